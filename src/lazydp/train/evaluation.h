#pragma once
// How well the model does on examples it was not trained on.

#include <cstdint>
#include <span>

#include "lazydp/data/dataset.h"
#include "lazydp/train/trainer.h"

namespace lazydp {

struct Metrics {
  double auc = 0.0;      // NaN when all labels are equal
  double logloss = 0.0;  // mean
  std::uint64_t examples = 0;
};

// Of a score for each label; equal scores count half. Exact.
double area_under_curve(std::span<const float> scores, std::span<const float> labels);

// Over all of `dataset`. Settles the rows it reads, so what it sees is what would be released.
Metrics evaluate(Trainer& trainer, const Dataset& dataset);

}  // namespace lazydp
