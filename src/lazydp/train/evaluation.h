#pragma once
// Measures how well a model does on examples it was not trained on.

#include <cstdint>
#include <functional>
#include <limits>
#include <span>

#include "lazydp/data/dataset.h"
#include "lazydp/train/metrics.h"
#include "lazydp/train/trainer.h"

namespace lazydp {

// Returns the logits of a batch, valid until the next one.
using Scorer = std::function<std::span<const float>(const Batch&)>;

inline constexpr std::uint64_t kAllExamples = std::numeric_limits<std::uint64_t>::max();

// Passes every example to `scorer`, in batches and in order, and each batch with its logits to
// `hear`.
void score(const Dataset& dataset, const Scorer& scorer,
           const std::function<void(const Batch& batch, std::span<const float> logits)>& hear);

// Passes this rank's share of the examples, their numbers and the trainer's logits to `hear`. Every
// rank calls it.
void score(Trainer& trainer, const Dataset& dataset,
           const std::function<void(std::span<const ExampleId> ids, const Batch& batch,
                                    std::span<const float> logits)>& hear);

// How scores are judged.
struct Judgement {
  GroupOf group_of = {};         // empty: nothing is grouped
  std::uint64_t cutoff = 10;     // of the metrics of the best-scored within groups
  double positive_weight = 1.0;  // the examples that a positive counts as
};

// Evaluates all of `dataset`, or at most `at_most` examples that lie evenly over it.
Metrics evaluate(const Scorer& scorer, const Dataset& dataset, std::uint64_t at_most = kAllExamples,
                 const Judgement& how = {});

// Settles the rows it reads, so that it evaluates the model that would be released. The ranks of
// the run share the examples, and all receive the metrics.
Metrics evaluate(Trainer& trainer, const Dataset& dataset, std::uint64_t at_most = kAllExamples,
                 const Judgement& how = {});

}  // namespace lazydp
