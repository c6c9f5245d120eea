#pragma once
// How well a model does on examples it was not trained on.

#include <cstdint>
#include <functional>
#include <limits>
#include <span>

#include "lazydp/data/dataset.h"
#include "lazydp/train/metrics.h"
#include "lazydp/train/trainer.h"

namespace lazydp {

// Logits of a batch, valid until the next one.
using Scorer = std::function<std::span<const float>(const Batch&)>;

inline constexpr std::uint64_t kAllExamples = std::numeric_limits<std::uint64_t>::max();

// Hands every example to `scorer`, in batches and in order, and what comes of it to `hear`.
void score(const Dataset& dataset, const Scorer& scorer,
           const std::function<void(const Batch& batch, std::span<const float> logits)>& hear);

// Over all of `dataset`, or `at_most` so many examples that lie evenly over it.
Metrics evaluate(const Scorer& scorer, const Dataset& dataset,
                 std::uint64_t at_most = kAllExamples);

// Settles the rows it reads, so what it sees is what would be released. The ranks of the run share
// the examples, and all have the metrics.
Metrics evaluate(Trainer& trainer, const Dataset& dataset, std::uint64_t at_most = kAllExamples);

}  // namespace lazydp
