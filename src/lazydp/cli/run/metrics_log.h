#pragma once
// What a run measures on the way, for later: metrics.jsonl, and TensorBoard's event files. Secret,
// like the data it comes from.

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "lazydp/report/tensorboard.h"
#include "lazydp/train/evaluation.h"
#include "lazydp/train/metrics.h"
#include "lazydp/train/plan_json.h"
#include "lazydp/train/trainer.h"

namespace lazydp::cli {

// Metrics for machines. What is not a number is null: JSON has no NaN.

inline Json finite_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

inline Json json_of(const Metrics& metrics) {
  return {{"auc", finite_or_null(metrics.auc)},
          {"logloss", finite_or_null(metrics.logloss)},
          {"normalised_entropy", finite_or_null(metrics.normalised_entropy)},
          {"calibration", finite_or_null(metrics.calibration)},
          {"examples", metrics.examples}};
}

// Steps are logged at most a thousand times in a run; evaluations always. An epsilon is what the
// model would have if it were released then; NaN if it is not known, or nothing can be claimed.
class MetricsLog {
 public:
  // Goes on with what a run that is resumed after step `from` had written: later lines go.
  MetricsLog(const std::string& path, const std::string& events, Step from, Step steps);

  void step(const StepReport& report, double epsilon);

  // `on` says which part of the data: "validation" or "test".
  void evaluation(Step step, const Metrics& metrics, const char* on, double epsilon);

 private:
  void write(const Json& line);

  std::string path_;
  std::ofstream file_;
  Step every_;
  EventFile events_;
};

// The lines of a log that is there; each has a step. Throws IoError for one that has none.
std::vector<Json> read_metrics_log(const std::string& path);

}  // namespace lazydp::cli
