#include "lazydp/report/chart_canvas.h"

#include <algorithm>
#include <cmath>

#include "lazydp/report/number_text.h"

namespace lazydp {
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
  // From the bottom up each moves as far as it must, then all of them down again if the highest
  // would leave the frame.
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
