#include "lazydp/apps/curve_svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "lazydp/apps/number_text.h"

namespace lazydp::apps {
namespace {

// The picture and the frame of the axes in it.
constexpr double kWidth = 760, kHeight = 460;
constexpr double kLeft = 72, kRight = 650, kTop = 76, kBottom = 396;
constexpr std::array kColours = {"#0b6e99", "#c2571a"};

// The smallest of 1, 2, 5 times a power of ten that cuts `range` into at most six parts.
double tick_distance(double range) {
  const double least = range / 6;
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

// From a value to its place in the picture: 0 at `from`, `most` at `to`.
struct Axis {
  double most, from, to;

  double place(double value) const { return from + (to - from) * value / most; }
  std::vector<double> ticks() const {
    const double distance = tick_distance(most);
    std::vector<double> values;
    for (int i = 0; i * distance <= most * (1 + 1e-9); ++i) values.push_back(i * distance);
    return values;
  }
};

std::string at(double place) {
  return fixed(place, 1);
}

void text(std::ostream& out, double x, double y, std::string_view attributes,
          const std::string& content) {
  out << "<text x=\"" << at(x) << "\" y=\"" << at(y) << "\" " << attributes << ">" << content
      << "</text>\n";
}

void line(std::ostream& out, double x1, double y1, double x2, double y2, std::string_view kind) {
  out << "<line class=\"" << kind << "\" x1=\"" << at(x1) << "\" y1=\"" << at(y1) << "\" x2=\""
      << at(x2) << "\" y2=\"" << at(y2) << "\"/>\n";
}

std::string steps_text(double steps) {
  return steps < 1e7 ? with_commas(steps) : shortest(steps);
}

void draw_axes(std::ostream& out, const Axis& x, const Axis& y) {
  for (const double value : y.ticks()) {
    line(out, kLeft, y.place(value), kRight, y.place(value), "grid");
    text(out, kLeft - 10, y.place(value) + 4, "text-anchor=\"end\"", shortest(value));
  }
  for (const double value : x.ticks()) {
    if (value != std::floor(value)) continue;  // there is no half step
    line(out, x.place(value), kBottom, x.place(value), kBottom + 5, "axis");
    text(out, x.place(value), kBottom + 21, "text-anchor=\"middle\"", steps_text(value));
  }
  line(out, kLeft, kBottom, kRight, kBottom, "axis");
  text(out, (kLeft + kRight) / 2, kBottom + 46, "text-anchor=\"middle\" class=\"name\"", "steps");
  text(out, kLeft - 10, kTop - 14, "text-anchor=\"end\" class=\"name\"", "ε");
}

void draw_curve(std::ostream& out, const Axis& x, const Axis& y, const EpsilonCurve& curve,
                std::string_view colour) {
  out << "<polyline fill=\"none\" stroke=\"" << colour
      << "\" stroke-width=\"2.5\" stroke-linejoin=\"round\" stroke-linecap=\"round\" points=\"";
  for (const auto& [steps, epsilon] : curve.points) {
    if (!std::isfinite(epsilon)) continue;
    out << at(x.place(static_cast<double>(steps))) << "," << at(y.place(epsilon)) << " ";
  }
  out << "\"><title>" << curve.accountant << "</title></polyline>\n";
}

// Names beside the ends of the curves, moved apart where they would touch.
void name_curves(std::ostream& out, const Axis& y, const std::vector<EpsilonCurve>& curves) {
  constexpr double kApart = 18;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < curves.size(); ++i) order.push_back(i);
  const auto last = [&](std::size_t i) { return curves[i].points.back().epsilon; };
  std::ranges::sort(order, std::less{}, last);
  double lowest = kHeight;
  for (const std::size_t i : order) {
    if (!std::isfinite(last(i))) continue;
    lowest = std::min(y.place(last(i)) + 4, lowest - kApart);
    text(out, kRight + 10, lowest,
         "font-weight=\"600\" fill=\"" + std::string(kColours[i % kColours.size()]) + "\"",
         std::string(curves[i].accountant) + " " + rounded_up(last(i), 4));
  }
}

}  // namespace

std::string curve_svg(const PrivacyQuestion& question, const std::vector<EpsilonCurve>& curves) {
  double most = 0;
  for (const EpsilonCurve& curve : curves) {
    for (const EpsilonAt& point : curve.points) {
      if (std::isfinite(point.epsilon)) most = std::max(most, point.epsilon);
    }
  }
  const Axis x{static_cast<double>(std::max<std::uint64_t>(question.steps, 1)), kLeft, kRight};
  const Axis y{most > 0 ? most * 1.05 : 1.0, kBottom, kTop};

  std::ostringstream out;
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << kWidth << " " << kHeight
      << "\" width=\"" << kWidth << "\" height=\"" << kHeight
      << "\" font-family=\"system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif\" "
         "font-size=\"13\" fill=\"#3b4252\" role=\"img\">\n"
      << "<title>epsilon over steps</title>\n"
      << "<style>.grid{stroke:#e3e7ee;stroke-width:1}.axis{stroke:#7b8494;stroke-width:1}"
         ".name{font-weight:600}</style>\n"
      << "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  text(out, kLeft, 30, "font-size=\"17\" font-weight=\"600\" fill=\"#1f2430\"",
       "Privacy spent over training, at δ = " + shortest(question.delta));
  text(out, kLeft, 50, "fill=\"#6b7385\"",
       "Poisson sampling rate " + shortest(question.sampling_rate) + ", noise multiplier " +
           shortest(question.noise_multiplier) + "; add or remove one example");
  draw_axes(out, x, y);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    draw_curve(out, x, y, curves[i], kColours[i % kColours.size()]);
  }
  name_curves(out, y, curves);
  out << "</svg>\n";
  return out.str();
}

}  // namespace lazydp::apps
