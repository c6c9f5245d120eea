// Draws bars in groups, beside each other or stacked, with whiskers for intervals.

#include <algorithm>
#include <cmath>

#include "lazydp/base/text/number_text.h"
#include "lazydp/report/chart.h"
#include "lazydp/report/chart_canvas.h"

namespace lazydp {
namespace {

using F = ChartFrame;

ChartBar bar_at(const BarSeries& series, std::size_t group) {
  return group < series.bars.size() ? series.bars[group] : ChartBar{};
}

std::string tip(const BarChart& chart, const BarSeries& series, std::size_t group, double value) {
  return chart.groups[group] + ", " + series.name + ": " + shortest(value);
}

ChartRange range_of(const BarChart& chart) {
  ChartRange range(chart.y);
  for (std::size_t g = 0; g < chart.groups.size(); ++g) {
    double sum = 0.0;
    for (const BarSeries& series : chart.series) {
      const ChartBar bar = bar_at(series, g);
      if (!range.shows(bar.value)) continue;
      sum += bar.value;
      for (const double value : {bar.value, bar.low, bar.high}) range.include(value);
    }
    if (chart.kind == BarChart::Kind::stacked) range.include(sum);
  }
  return range;
}

// The part of the axis that belongs to group `g`, and in it the part of one of `count` bars.
struct Slot {
  double left, right;

  static Slot of_group(std::size_t g, std::size_t groups) {
    constexpr double kGap = 0.14;  // on either side
    const double width = (F::kRight - F::kLeft) / static_cast<double>(groups);
    const double left = F::kLeft + width * static_cast<double>(g);
    return {left + kGap * width, left + (1 - kGap) * width};
  }
  Slot of_bar(std::size_t bar, std::size_t count) const {
    const double width = (right - left) / static_cast<double>(count);
    const double begin = left + width * static_cast<double>(bar);
    return {begin + 0.04 * width, begin + 0.96 * width};
  }
  double middle() const { return (left + right) / 2; }
};

void draw_whisker(ChartCanvas& canvas, const ChartRange& range, const PlacedAxis& y,
                  const Slot& slot, const ChartBar& bar) {
  if (!range.shows(bar.low) || !range.shows(bar.high)) return;
  const double half = std::min(5.0, (slot.right - slot.left) / 3);
  const double x = slot.middle();
  constexpr std::string_view kStroke = "stroke=\"#1f2430\" stroke-width=\"1.2\"";
  canvas.line(x, y.place(bar.low), x, y.place(bar.high), kStroke);
  for (const double end : {bar.low, bar.high}) {
    canvas.line(x - half, y.place(end), x + half, y.place(end), kStroke);
  }
}

// Writes the reason for a missing bar upright in its place.
void draw_note(ChartCanvas& canvas, const Slot& slot, const std::string& note) {
  if (note.empty()) return;
  constexpr double kUp = 8, kDown = 4;
  const std::string x = fixed(slot.middle() + kDown, 1);
  const std::string y = fixed(F::kBottom - kUp, 1);
  canvas.text(slot.middle() + kDown, F::kBottom - kUp,
              "font-size=\"12\" fill=\"#6b7385\" transform=\"rotate(-90 " + x + " " + y + ")\"",
              note);
}

// Returns whether the names of neighbouring groups would touch.
bool crowded(const BarChart& chart) {
  constexpr double kLetter = 7.5;
  const double room = (F::kRight - F::kLeft) / static_cast<double>(chart.groups.size());
  return std::ranges::any_of(chart.groups, [room](const std::string& name) {
    return kLetter * static_cast<double>(name.size()) > room;
  });
}

// Writes the name below the axis; slanted if there is no room.
void draw_name(ChartCanvas& canvas, const BarChart& chart, std::size_t g, double x) {
  constexpr double kLevel = 21, kSlanted = 14;
  if (!crowded(chart)) {
    canvas.text(x, F::kBottom + kLevel, "text-anchor=\"middle\"", chart.groups[g]);
    return;
  }
  const double y = F::kBottom + kSlanted;
  canvas.text(x + 4, y,
              "font-size=\"11\" text-anchor=\"end\" transform=\"rotate(-30 " + fixed(x + 4, 1) +
                  " " + fixed(y, 1) + ")\"",
              chart.groups[g]);
}

void draw_group(ChartCanvas& canvas, const BarChart& chart, const ChartRange& range,
                const PlacedAxis& y, std::size_t g) {
  const Slot group = Slot::of_group(g, chart.groups.size());
  const bool stacked = chart.kind == BarChart::Kind::stacked;
  double below = 0.0;
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const ChartBar bar = bar_at(chart.series[s], g);
    const Slot slot = stacked ? group : group.of_bar(s, chart.series.size());
    if (!range.shows(bar.value)) {
      draw_note(canvas, slot, bar.note);
      continue;
    }
    const double foot = stacked ? y.place(below) : y.foot();
    below += bar.value;
    canvas.rectangle(
        slot.left, y.place(stacked ? below : bar.value), slot.right, foot, chart_colour(s),
        tip(chart, chart.series[s], g, bar.value) + (bar.extrapolated ? " (extrapolated)" : ""),
        bar.extrapolated ? ChartCanvas::Fill::outline : ChartCanvas::Fill::solid);
    if (!stacked) draw_whisker(canvas, range, y, slot, bar);
  }
  draw_name(canvas, chart, g, group.middle());
}

}  // namespace

std::string svg_of(const BarChart& chart) {
  const ChartRange range = range_of(chart);
  const PlacedAxis y(chart.y, range, F::kBottom, F::kTop);
  ChartCanvas canvas(chart.head);
  canvas.vertical_axis(y, chart.y.name);
  for (std::size_t g = 0; g < chart.groups.size(); ++g) draw_group(canvas, chart, range, y, g);

  std::vector<ChartCanvas::SideName> names;
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    names.push_back({kNotThere, chart.series[s].name, chart_colour(s)});
  }
  // Lists the names of stacked bars in the order in which the bars are stacked.
  if (chart.kind == BarChart::Kind::stacked) std::ranges::reverse(names);
  canvas.side_names(std::move(names));
  return canvas.finish();
}

}  // namespace lazydp
