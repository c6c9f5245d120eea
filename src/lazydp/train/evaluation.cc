#include "lazydp/train/evaluation.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "lazydp/data/samplers.h"

namespace lazydp {
namespace {

using Heard = std::function<void(const Batch&, std::span<const float>)>;

// Part `number` of `parts` equal parts of each batch.
struct Part {
  int number = 0;
  int parts = 1;
};
constexpr Part kEveryExample = {};

// Scores the part's share of `count` examples, the i-th of which is number i x size / count.
void score_some(const Dataset& dataset, std::uint64_t count, Part part, const Scorer& scorer,
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
    keep_part(examples, part.number, part.parts);
    dataset.read(examples, batch);
    hear(batch, scorer(batch));
  }
}

}  // namespace

void score(const Dataset& dataset, const Scorer& scorer, const Heard& hear) {
  score_some(dataset, dataset.size(), kEveryExample, scorer, hear);
}

namespace {

struct Scored {
  std::vector<float> logits;
  std::vector<float> labels;

  void add(const Batch& batch, std::span<const float> some) {
    logits.insert(logits.end(), some.begin(), some.end());
    labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
  }
};

// Returns every rank's numbers, one after the other, on the first rank.
std::vector<float> join(Communicator& ranks, const std::vector<float>& mine) {
  std::vector<float> all;
  const auto* bytes = reinterpret_cast<const char*>(mine.data());
  for (const std::string& part : ranks.gather({bytes, mine.size() * sizeof(float)})) {
    const std::size_t before = all.size();
    all.resize(before + part.size() / sizeof(float));
    if (!part.empty()) std::memcpy(all.data() + before, part.data(), part.size());
  }
  return all;
}

}  // namespace

Metrics evaluate(const Scorer& scorer, const Dataset& dataset, std::uint64_t at_most) {
  Scored all;
  score_some(dataset, std::min(at_most, dataset.size()), kEveryExample, scorer,
             [&all](const Batch& batch, std::span<const float> some) { all.add(batch, some); });
  return metrics_of(all.logits, all.labels);
}

Metrics evaluate(Trainer& trainer, const Dataset& dataset, std::uint64_t at_most) {
  const Scorer scorer = [&trainer](const Batch& batch) { return trainer.predict(batch); };
  CommThread& ranks = trainer.state().comm;
  if (ranks.size() == 1) return evaluate(scorer, dataset, at_most);
  Scored here;
  score_some(dataset, std::min(at_most, dataset.size()), {ranks.rank(), ranks.size()}, scorer,
             [&here](const Batch& batch, std::span<const float> some) { here.add(batch, some); });
  Metrics metrics;
  ranks.run([&](Communicator& all) {
    const Scored together = {join(all, here.logits), join(all, here.labels)};
    if (all.rank() == 0) metrics = metrics_of(together.logits, together.labels);
    all.broadcast(std::as_writable_bytes(std::span(&metrics, 1)), 0);
  });
  return metrics;
}

}  // namespace lazydp
