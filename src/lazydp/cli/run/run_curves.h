#pragma once
// Curves of what runs measured while they trained, for the pages that show runs.

#include <string>
#include <vector>

#include "lazydp/report/chart.h"
#include "lazydp/train/plan_json.h"

namespace lazydp::cli {

// Returns the values of `key` in a run's log, step by step.
std::vector<ChartPoint> points_of(const std::vector<Json>& log, const char* key);

// Returns the mean of each of at most a hundred runs of points: single steps are noisy.
std::vector<ChartPoint> smoothed(const std::vector<ChartPoint>& points);

// A chart over the steps of runs.
class RunCurves {
 public:
  RunCurves(ChartHead head, ChartAxis y);

  // Adds a curve, which may have no points but keeps its colour, or a level to compare curves with:
  // none if the value is none.
  RunCurves& curve(const std::string& name, std::vector<ChartPoint> points);
  RunCurves& level(const std::string& name, double value);

  // Cuts off what rises far above the rest for a few points, so that it does not flatten the rest.
  RunCurves& without_spikes();

  bool empty() const;
  std::string svg() const;

 private:
  struct Level {
    std::string name;
    double value;
  };
  LineChart chart_;
  std::vector<Level> levels_;
};

// The axis of an AUC: from guessing to perfect, so that small differences look small.
ChartAxis auc_axis(const std::string& name);

// The axis of a log-loss.
ChartAxis loss_axis();

}  // namespace lazydp::cli
