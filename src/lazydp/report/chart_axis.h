#pragma once
// From values to places in a picture, and the values worth a label.

#include <string>
#include <vector>

#include "lazydp/report/chart.h"

namespace lazydp {

// The least and the greatest of what an axis must show.
class ChartRange {
 public:
  explicit ChartRange(const ChartAxis& axis);

  void include(double value);
  bool shows(double value) const;  // finite and, on a logarithmic axis, positive

  double least() const { return least_; }
  double most() const { return most_; }

 private:
  bool logarithmic_;
  double least_;
  double most_;
};

// A range laid over the picture from `from` to `to`.
class PlacedAxis {
 public:
  PlacedAxis(const ChartAxis& axis, const ChartRange& range, double from, double to);

  double place(double value) const;
  double foot() const { return from_; }  // where the axis begins

  // Round values within the axis, about six.
  std::vector<double> ticks() const;

 private:
  bool logarithmic_;
  double least_;
  double most_;
  double from_;
  double to_;
};

std::string tick_text(double value);

}  // namespace lazydp
