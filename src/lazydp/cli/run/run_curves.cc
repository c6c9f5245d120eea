#include "lazydp/cli/run/run_curves.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lazydp/base/text/number_text.h"

namespace lazydp::cli {
namespace {

// Returns text that fits beside a chart.
std::string short_name(const std::string& name) {
  constexpr std::size_t kMost = 17;
  if (name.size() <= kMost) return name;
  std::size_t cut = kMost - 1;
  while (cut > 0 && (static_cast<unsigned char>(name[cut]) & 0xc0u) == 0x80u) --cut;  // in UTF-8
  return name.substr(0, cut) + "…";
}

}  // namespace

std::vector<ChartPoint> points_of(const std::vector<Json>& log, const char* key) {
  std::vector<ChartPoint> points;
  for (const Json& line : log) {
    const auto value = line.find(key);
    if (value == line.end() || !value->is_number()) continue;
    points.push_back({.x = line.at("step").get<double>(), .y = value->get<double>()});
  }
  return points;
}

std::vector<ChartPoint> smoothed(const std::vector<ChartPoint>& points) {
  constexpr std::size_t kShown = 100;
  const std::size_t each = (points.size() + kShown - 1) / kShown;
  std::vector<ChartPoint> means;
  for (std::size_t i = 0; i < points.size(); i += each) {
    const std::size_t count = std::min(each, points.size() - i);
    ChartPoint mean;
    for (std::size_t j = i; j < i + count; ++j) {
      mean.x += points[j].x / static_cast<double>(count);
      mean.y += points[j].y / static_cast<double>(count);
    }
    means.push_back(mean);
  }
  return means;
}

RunCurves::RunCurves(ChartHead head, ChartAxis y)
    : chart_{.head = std::move(head), .x = {.name = "steps"}, .y = std::move(y), .lines = {}} {}

RunCurves& RunCurves::curve(const std::string& name, std::vector<ChartPoint> points) {
  chart_.lines.push_back({short_name(name), std::move(points)});
  return *this;
}

RunCurves& RunCurves::level(const std::string& name, double value) {
  if (std::isfinite(value)) levels_.push_back({short_name(name), value});
  return *this;
}

RunCurves& RunCurves::without_spikes() {
  constexpr double kUsual = 0.9, kFar = 2.0, kRoom = 1.5;
  std::vector<double> values;
  for (const ChartLine& line : chart_.lines) {
    for (const ChartPoint& point : line.points) {
      if (std::isfinite(point.y)) values.push_back(point.y);
    }
  }
  if (values.empty()) return *this;
  const auto [least, most] = std::ranges::minmax(values);
  const double usual = quantile(values, kUsual) - least;
  if (usual <= 0.0 || most <= least + kFar * usual) return *this;
  double top = least + kRoom * usual;
  for (const Level& level : levels_) top = std::max(top, level.value);
  chart_.y.at_most = top;
  chart_.head.note += "; up to " + shortest(most) + ", cut off above";
  return *this;
}

bool RunCurves::empty() const {
  return std::ranges::all_of(chart_.lines,
                             [](const ChartLine& line) { return line.points.empty(); });
}

std::string RunCurves::svg() const {
  LineChart chart = chart_;
  double last = 0.0;
  for (const ChartLine& line : chart.lines) {
    for (const ChartPoint& point : line.points) last = std::max(last, point.x);
  }
  for (const Level& level : levels_) {
    chart.lines.push_back({level.name,
                           {{.x = 0.0, .y = level.value}, {.x = last, .y = level.value}},
                           ChartLine::Kind::level});
  }
  return svg_of(chart);
}

ChartAxis auc_axis(const std::string& name) {
  return {.name = name, .from_zero = false, .shows = {0.5, 1.0}};
}

ChartAxis loss_axis() {
  return {.name = "log-loss", .from_zero = false};
}

}  // namespace lazydp::cli
