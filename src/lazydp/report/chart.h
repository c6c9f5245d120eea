#pragma once
// Pictures of numbers: lines and bars, each one self-contained SVG that also stands in a page.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace lazydp {

inline constexpr double kNotThere = std::numeric_limits<double>::quiet_NaN();

// A logarithmic axis leaves out what is not positive.
struct ChartAxis {
  enum class Scale : std::uint8_t { linear, logarithmic };

  std::string name = {};
  Scale scale = Scale::linear;
  bool from_zero = true;  // linear: begins at zero, however far away the values are
};

// Both pictures begin with these.
struct ChartHead {
  std::string title = {};
  std::string note = {};  // a line below it: what was measured, and how
};

struct ChartPoint {
  double x = 0.0;
  double y = 0.0;  // not finite: left out
  double low = kNotThere;
  double high = kNotThere;  // an interval around y, drawn as a band
};

struct ChartLine {
  std::string name = {};  // stands beside its end
  std::vector<ChartPoint> points = {};
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
  std::string note = {};      // stands upright where the bar is missing
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
