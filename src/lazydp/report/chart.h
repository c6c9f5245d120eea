#pragma once
// Line and bar charts, each drawn as one self-contained SVG that can also be embedded in a page.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace lazydp {

inline constexpr double kNotThere = std::numeric_limits<double>::quiet_NaN();

// A logarithmic axis leaves out values that are not positive.
struct ChartAxis {
  enum class Scale : std::uint8_t { linear, logarithmic };

  std::string name = {};
  Scale scale = Scale::linear;
  bool from_zero = true;           // linear: begins at zero, however far away the values are
  std::vector<double> shows = {};  // values that it reaches, whatever the lines' are
  double at_most = kNotThere;      // larger values are drawn at its upper end
};

// The title and note of a chart.
struct ChartHead {
  std::string title = {};
  std::string note = {};  // a line below the title: what was measured, and how
};

struct ChartPoint {
  double x = 0.0;
  double y = 0.0;  // not finite: left out
  double low = kNotThere;
  double high = kNotThere;  // an interval around y, drawn as a band
};

struct ChartLine {
  enum class Kind : std::uint8_t { curve, level };  // level: dashed, to compare curves with

  std::string name = {};  // shown beside its end
  std::vector<ChartPoint> points = {};
  Kind kind = Kind::curve;
};

struct LineChart {
  ChartHead head = {};
  ChartAxis x = {};
  ChartAxis y = {};
  std::vector<ChartLine> lines = {};
};

struct ChartBar {
  double value = kNotThere;  // not finite: no bar
  double low = kNotThere;
  double high = kNotThere;    // an interval, drawn as a whisker
  bool extrapolated = false;  // not measured: drawn as an outline
  std::string note = {};      // shown upright where the bar is missing
};

struct BarSeries {
  std::string name = {};
  std::vector<ChartBar> bars = {};  // one for each group
};

struct BarChart {
  enum class Kind : std::uint8_t { beside, stacked };  // stacked: linear axes only

  ChartHead head = {};
  std::vector<std::string> groups = {};
  ChartAxis y = {};
  std::vector<BarSeries> series = {};
  Kind kind = Kind::beside;
};

std::string svg_of(const LineChart& chart);
std::string svg_of(const BarChart& chart);

}  // namespace lazydp
