#include "lazydp/train/evaluation.h"

#include <algorithm>
#include <vector>

namespace lazydp {
namespace {

using Heard = std::function<void(const Batch&, std::span<const float>)>;

// `count` examples, the i-th of them number i x size / count.
void score_some(const Dataset& dataset, std::uint64_t count, const Scorer& scorer,
                const Heard& hear) {
  constexpr std::uint64_t kBatch = 4096;
  const std::uint64_t size = dataset.size();
  std::vector<ExampleId> examples;
  Batch batch;
  for (std::uint64_t first = 0; first < count; first += kBatch) {
    examples.clear();
    for (std::uint64_t i = first; i < std::min(first + kBatch, count); ++i) {
      examples.push_back(i * (size / count) + i * (size % count) / count);
    }
    dataset.read(examples, batch);
    hear(batch, scorer(batch));
  }
}

}  // namespace

void score(const Dataset& dataset, const Scorer& scorer, const Heard& hear) {
  score_some(dataset, dataset.size(), scorer, hear);
}

Metrics evaluate(const Scorer& scorer, const Dataset& dataset, std::uint64_t at_most) {
  std::vector<float> logits;
  std::vector<float> labels;
  score_some(dataset, std::min(at_most, dataset.size()), scorer,
             [&](const Batch& batch, std::span<const float> some) {
               logits.insert(logits.end(), some.begin(), some.end());
               labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
             });
  return metrics_of(logits, labels);
}

Metrics evaluate(Trainer& trainer, const Dataset& dataset, std::uint64_t at_most) {
  return evaluate([&trainer](const Batch& batch) { return trainer.predict(batch); }, dataset,
                  at_most);
}

}  // namespace lazydp
