#pragma once
// The drawing primitives of line and bar charts: text, strokes, axes, and names that do not
// overlap.

#include <array>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "lazydp/report/chart.h"

namespace lazydp {

// The range of the values that an axis must show.
class ChartRange {
 public:
  explicit ChartRange(const ChartAxis& axis);

  void include(double value);
  bool shows(double value) const;  // finite and, on a logarithmic axis, positive

  double least() const { return least_; }
  double most() const { return most_; }

 private:
  bool logarithmic_;
  double at_most_;
  double least_;
  double most_;
};

// An axis that maps values of a range to coordinates from `from` to `to`.
class PlacedAxis {
 public:
  PlacedAxis(const ChartAxis& axis, const ChartRange& range, double from, double to);

  double place(double value) const;
  double foot() const { return from_; }  // where the axis begins

  // Returns about six round values within the axis, for labels.
  std::vector<double> ticks() const;

 private:
  bool logarithmic_;
  double least_;
  double most_;
  double from_;
  double to_;
};

std::string tick_text(double value);

// The size of the image, and the frame of the axes in it.
struct ChartFrame {
  static constexpr double kWidth = 760, kHeight = 460;
  static constexpr double kLeft = 72, kRight = 620, kTop = 92, kBottom = 396;
};

// Distinguishable with every kind of colour vision (Okabe and Ito's), dark enough for thin lines.
inline constexpr std::array<std::string_view, 8> kChartColours = {
    "#0072b2", "#d55e00", "#009e73", "#aa3377", "#b8860b", "#56b4e9", "#3b4252", "#8a6d3b"};

inline std::string_view chart_colour(std::size_t series) {
  return kChartColours[series % kChartColours.size()];
}

// Escapes text for SVG and HTML.
std::string escaped(std::string_view text);

class ChartCanvas {
 public:
  explicit ChartCanvas(const ChartHead& head);

  // `attributes` go into the element as they are; `content` is escaped.
  void text(double x, double y, std::string_view attributes, std::string_view content);
  void line(double x1, double y1, double x2, double y2, std::string_view attributes);

  enum class Fill : std::uint8_t { solid, outline };

  // `tip` is the tooltip.
  void rectangle(double left, double top, double right, double bottom, std::string_view colour,
                 std::string_view tip, Fill fill = Fill::solid);
  void path(std::string_view attributes, const std::vector<std::array<double, 2>>& places,
            std::string_view tip);

  void vertical_axis(const PlacedAxis& axis, const std::string& name);
  void name_of_horizontal_axis(const std::string& name);

  // Writes names on the right, each at its height if there is room, else as near as the others
  // allow. Names without a height are listed from the top.
  struct SideName {
    double y = kNotThere;
    std::string text = {};
    std::string_view colour = {};
  };
  void side_names(std::vector<SideName> names);

  std::string finish();

 private:
  std::ostringstream out_;
};

}  // namespace lazydp
