// Draws lines with their names at their ends, bands for intervals, dots where points are few.

#include <algorithm>
#include <cmath>

#include "lazydp/report/chart.h"
#include "lazydp/report/chart_canvas.h"

namespace lazydp {
namespace {

using F = ChartFrame;
using Places = std::vector<std::array<double, 2>>;

struct Plane {
  ChartRange x_range;
  ChartRange y_range;

  explicit Plane(const LineChart& chart) : x_range(chart.x), y_range(chart.y) {
    for (const ChartLine& line : chart.lines) {
      for (const ChartPoint& point : line.points) {
        if (!shows(point)) continue;
        x_range.include(point.x);
        for (const double y : {point.y, point.low, point.high}) y_range.include(y);
      }
    }
  }
  bool shows(const ChartPoint& point) const {
    return x_range.shows(point.x) && y_range.shows(point.y);
  }
  bool shows_interval(const ChartPoint& point) const {
    return shows(point) && y_range.shows(point.low) && y_range.shows(point.high);
  }
};

void draw_horizontal_axis(ChartCanvas& canvas, const PlacedAxis& axis, const std::string& name) {
  constexpr double kTick = 5, kText = 21;
  for (const double value : axis.ticks()) {
    canvas.line(axis.place(value), F::kBottom, axis.place(value), F::kBottom + kTick,
                "stroke=\"#7b8494\"");
    canvas.text(axis.place(value), F::kBottom + kText, "text-anchor=\"middle\"", tick_text(value));
  }
  canvas.name_of_horizontal_axis(name);
}

// Draws along the upper ends of the intervals and back along the lower ones.
void draw_band(ChartCanvas& canvas, const Plane& plane, const PlacedAxis& x, const PlacedAxis& y,
               const ChartLine& line, const std::string& colour) {
  Places band;
  for (const ChartPoint& point : line.points) {
    if (plane.shows_interval(point)) band.push_back({x.place(point.x), y.place(point.high)});
  }
  for (auto point = line.points.rbegin(); point != line.points.rend(); ++point) {
    if (plane.shows_interval(*point)) band.push_back({x.place(point->x), y.place(point->low)});
  }
  if (!band.empty()) {
    canvas.path("fill=\"" + colour + "\" fill-opacity=\"0.15\" stroke=\"none\"", band, line.name);
  }
}

}  // namespace

std::string svg_of(const LineChart& chart) {
  const Plane plane(chart);
  const PlacedAxis x(chart.x, plane.x_range, F::kLeft, F::kRight);
  const PlacedAxis y(chart.y, plane.y_range, F::kBottom, F::kTop);
  ChartCanvas canvas(chart.head);
  canvas.vertical_axis(y, chart.y.name);
  draw_horizontal_axis(canvas, x, chart.x.name);

  constexpr std::size_t kFew = 16;
  std::vector<ChartCanvas::SideName> names;
  for (std::size_t i = 0; i < chart.lines.size(); ++i) {
    const ChartLine& line = chart.lines[i];
    const std::string colour(chart_colour(i));
    draw_band(canvas, plane, x, y, line, colour);
    Places places;
    for (const ChartPoint& point : line.points) {
      if (plane.shows(point)) places.push_back({x.place(point.x), y.place(point.y)});
    }
    if (places.empty()) continue;
    const bool level = line.kind == ChartLine::Kind::level;
    canvas.path("fill=\"none\" stroke=\"" + colour + "\" stroke-width=\"" +
                    (level ? "1.5\" stroke-dasharray=\"6 4\""
                           : "2.5\" stroke-linejoin=\"round\" stroke-linecap=\"round\""),
                places, line.name);
    if (places.size() <= kFew && !level) {
      for (const auto& [px, py] : places) {
        canvas.line(px, py, px, py,
                    "stroke=\"" + colour + "\" stroke-width=\"7\" stroke-linecap=\"round\"");
      }
    }
    names.push_back({places.back()[1], line.name, chart_colour(i)});
  }
  canvas.side_names(std::move(names));
  return canvas.finish();
}

}  // namespace lazydp
