#pragma once
// Metrics for machines. What is not a number is null: JSON has no NaN.

#include <cmath>

#include "lazydp/train/metrics.h"
#include "lazydp/train/plan_json.h"

namespace lazydp::cli {

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

}  // namespace lazydp::cli
