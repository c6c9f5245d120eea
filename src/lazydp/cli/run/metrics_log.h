#pragma once
// Logs a run's measurements: metrics.jsonl, and TensorBoard's event files. Secret, like the data
// they come from.

#include <cmath>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "lazydp/report/tensorboard.h"
#include "lazydp/train/evaluation.h"
#include "lazydp/train/metrics.h"
#include "lazydp/train/plan_json.h"
#include "lazydp/train/trainer.h"

namespace lazydp::cli {

// Returns null for a value that is not finite: JSON has no NaN.
inline Json finite_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

inline Json json_of(const Metrics& metrics) {
  Json json = {{"auc", finite_or_null(metrics.auc)},
               {"logloss", finite_or_null(metrics.logloss)},
               {"normalised_entropy", finite_or_null(metrics.normalised_entropy)},
               {"calibration", finite_or_null(metrics.calibration)},
               {"examples", metrics.examples}};
  if (std::isfinite(metrics.gauc)) {
    json["gauc"] = metrics.gauc;
    json["ndcg"] = metrics.ndcg;
    json["recall"] = metrics.recall;
    json["cutoff"] = metrics.cutoff;
  }
  return json;
}

// Logs steps at most a thousand times in a run; evaluations always. An epsilon is that of the model
// if it were released then; none if it is not known, or nothing can be claimed.
class MetricsLog {
 public:
  // Continues the log of a run that is resumed after step `from`: later lines are removed.
  MetricsLog(const std::string& path, const std::string& events, Step from, Step steps);

  void step(const StepReport& report, std::optional<double> epsilon);

  // `on` names the part of the data: "validation" or "test".
  void evaluation(Step step, const Metrics& metrics, const char* on, std::optional<double> epsilon);

 private:
  void write(const Json& line);

  std::string path_;
  std::ofstream file_;
  Step every_;
  EventFile events_;
};

// Returns the lines of an existing log; each has a step. Throws IoError for a line that has none.
std::vector<Json> read_metrics_log(const std::string& path);

}  // namespace lazydp::cli
