#include "lazydp/report/chart_canvas.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lazydp/base/text/number_text.h"

namespace lazydp {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-9;

// Returns the smallest of 1, 2, 5 times a power of ten that cuts `range` into at most six parts.
double tick_distance(double range) {
  const double least = range / 6;
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - kRounding)) return factor * power;
  }
  return 10 * power;
}

// Returns powers of ten; over less than three of them also their doubles and fives, over many only
// some.
std::vector<double> logarithmic_ticks(double least, double most) {
  const double decades = std::log10(most / least);
  const int every = std::max(1, static_cast<int>(std::ceil(decades / 7)));
  std::vector<double> values;
  for (int power = static_cast<int>(std::floor(std::log10(least))); std::pow(10.0, power) <= most;
       ++power) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(10.0, power);
      const bool wanted = factor == 1.0 ? power % every == 0 : decades < 3.0;
      if (wanted && value >= least * (1 - kRounding) && value <= most * (1 + kRounding)) {
        values.push_back(value);
      }
    }
  }
  return values;
}

}  // namespace

ChartRange::ChartRange(const ChartAxis& axis)
    : logarithmic_(axis.scale == ChartAxis::Scale::logarithmic),
      at_most_(std::isfinite(axis.at_most) ? axis.at_most : kInfinity),
      least_(!logarithmic_ && axis.from_zero ? 0.0 : kInfinity),
      most_(!logarithmic_ && axis.from_zero ? 0.0 : -kInfinity) {
  for (const double value : axis.shows) include(value);
}

bool ChartRange::shows(double value) const {
  return std::isfinite(value) && (!logarithmic_ || value > 0.0);
}

void ChartRange::include(double value) {
  if (!shows(value)) return;
  value = std::min(value, at_most_);
  least_ = std::min(least_, value);
  most_ = std::max(most_, value);
}

PlacedAxis::PlacedAxis(const ChartAxis& axis, const ChartRange& range, double from, double to)
    : logarithmic_(axis.scale == ChartAxis::Scale::logarithmic),
      least_(range.least()),
      most_(range.most()),
      from_(from),
      to_(to) {
  if (least_ > most_) least_ = most_ = 1.0;  // no values
  if (logarithmic_) {
    constexpr double kRoom = 1.1;
    least_ /= kRoom;
    most_ *= kRoom;
    return;
  }
  if (least_ == most_) most_ = least_ + (least_ == 0.0 ? 1.0 : std::abs(least_) * 0.1);
}

double PlacedAxis::place(double value) const {
  const double share = logarithmic_ ? std::log(value / least_) / std::log(most_ / least_)
                                    : (value - least_) / (most_ - least_);
  return from_ + (to_ - from_) * std::clamp(share, 0.0, 1.0);
}

std::vector<double> PlacedAxis::ticks() const {
  if (logarithmic_) return logarithmic_ticks(least_, most_);
  const double distance = tick_distance(most_ - least_);
  std::vector<double> values;
  for (double i = std::ceil(least_ / distance - kRounding);
       i * distance <= most_ + kRounding * distance; ++i) {
    values.push_back(i * distance + 0.0);  // avoids -0
  }
  return values;
}

std::string tick_text(double value) {
  const bool whole = value == std::floor(value);
  constexpr double kMillion = 1e6, kMost = 1e9;
  if (std::abs(value) >= kMillion && std::abs(value) < kMost) {
    return shortest(value / kMillion) + " M";
  }
  return whole && std::abs(value) < kMillion ? with_commas(value) : shortest(value);
}

namespace {

using F = ChartFrame;

std::string at(double place) {
  return fixed(place, 1);
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

ChartCanvas::ChartCanvas(const ChartHead& head) {
  out_ << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << F::kWidth << " "
       << F::kHeight << "\" width=\"" << F::kWidth << "\" height=\"" << F::kHeight
       << "\" font-family=\"system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif\" "
          "font-size=\"13\" fill=\"#3b4252\" role=\"img\">\n"
       << "<title>" << escaped(head.title) << "</title>\n"
       << "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  constexpr double kTitle = 30, kNote = 50;
  text(F::kLeft, kTitle, "font-size=\"17\" font-weight=\"600\" fill=\"#1f2430\"", head.title);
  text(F::kLeft, kNote, "fill=\"#6b7385\"", head.note);
}

void ChartCanvas::text(double x, double y, std::string_view attributes, std::string_view content) {
  out_ << "<text x=\"" << at(x) << "\" y=\"" << at(y) << "\" " << attributes << ">"
       << escaped(content) << "</text>\n";
}

void ChartCanvas::line(double x1, double y1, double x2, double y2, std::string_view attributes) {
  out_ << "<line x1=\"" << at(x1) << "\" y1=\"" << at(y1) << "\" x2=\"" << at(x2) << "\" y2=\""
       << at(y2) << "\" " << attributes << "/>\n";
}

void ChartCanvas::rectangle(double left, double top, double right, double bottom,
                            std::string_view colour, std::string_view tip, Fill fill) {
  out_ << "<rect x=\"" << at(left) << "\" y=\"" << at(top) << "\" width=\"" << at(right - left)
       << "\" height=\"" << at(std::max(0.0, bottom - top)) << "\" fill=\"" << colour
       << (fill == Fill::solid ? "\""
                               : "\" fill-opacity=\"0.15\" stroke-dasharray=\"4 3\" stroke=\"" +
                                     std::string(colour) + "\"")
       << "><title>" << escaped(tip) << "</title></rect>\n";
}

void ChartCanvas::path(std::string_view attributes,
                       const std::vector<std::array<double, 2>>& places, std::string_view tip) {
  out_ << "<polyline " << attributes << " points=\"";
  for (const auto& [x, y] : places) out_ << at(x) << "," << at(y) << " ";
  out_ << "\"><title>" << escaped(tip) << "</title></polyline>\n";
}

void ChartCanvas::vertical_axis(const PlacedAxis& axis, const std::string& name) {
  for (const double value : axis.ticks()) {
    const double y = axis.place(value);
    line(F::kLeft, y, F::kRight, y, "stroke=\"#e3e7ee\"");
    text(F::kLeft - 10, y + 4, "text-anchor=\"end\"", tick_text(value));
  }
  line(F::kLeft, F::kBottom, F::kRight, F::kBottom, "stroke=\"#7b8494\"");
  text(F::kLeft, F::kTop - 10, "font-weight=\"600\"", name);
}

void ChartCanvas::name_of_horizontal_axis(const std::string& name) {
  text((F::kLeft + F::kRight) / 2, F::kBottom + 46, "text-anchor=\"middle\" font-weight=\"600\"",
       name);
}

void ChartCanvas::side_names(std::vector<SideName> names) {
  constexpr double kApart = 18, kDown = 4;
  double next = F::kTop + kApart;
  for (SideName& name : names) {
    if (std::isnan(name.y)) name.y = next;
    next += kApart;
  }
  // From the bottom up moves each name as far as it must, then all of them down again if the
  // highest would leave the frame.
  std::ranges::stable_sort(names, std::greater{}, &SideName::y);
  double limit = F::kBottom + kApart;
  for (SideName& name : names) limit = name.y = std::min(name.y, limit - kApart);
  double top = F::kTop;
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    name->y = std::max(name->y, top);
    top = name->y + kApart;
  }
  for (const SideName& name : names) {
    text(F::kRight + 10, name.y + kDown,
         "font-weight=\"600\" fill=\"" + std::string(name.colour) + "\"", name.text);
  }
}

std::string ChartCanvas::finish() {
  out_ << "</svg>\n";
  return out_.str();
}

}  // namespace lazydp
