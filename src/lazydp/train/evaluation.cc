#include "lazydp/train/evaluation.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "lazydp/data/samplers.h"
#include "lazydp/train/group_metrics.h"

namespace lazydp {
namespace {

using Heard = std::function<void(std::span<const ExampleId>, const Batch&, std::span<const float>)>;

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
    hear(examples, batch, scorer(batch));
  }
}

}  // namespace

void score(const Dataset& dataset, const Scorer& scorer,
           const std::function<void(const Batch&, std::span<const float>)>& hear) {
  score_some(dataset, dataset.size(), kEveryExample, scorer,
             [&hear](auto, const Batch& batch, std::span<const float> some) { hear(batch, some); });
}

void score(Trainer& trainer, const Dataset& dataset, const Heard& hear) {
  const CommThread& ranks = trainer.state().comm;
  score_some(
      dataset, dataset.size(), {ranks.rank(), ranks.size()},
      [&trainer](const Batch& batch) { return trainer.predict(batch); }, hear);
}

namespace {

struct Scored {
  std::vector<float> logits;
  std::vector<float> labels;
  std::vector<std::uint64_t> groups;  // empty: nothing is grouped

  Metrics metrics(const Judgement& how) const {
    Metrics result = metrics_of(logits, labels, how.positive_weight);
    if (groups.empty()) return result;
    const GroupMetrics within = group_metrics(logits, labels, groups, how.cutoff);
    result.gauc = within.area;
    result.ndcg = within.ndcg;
    result.recall = within.recall;
    result.cutoff = how.cutoff;
    return result;
  }
};

Scored score_part(const Dataset& dataset, std::uint64_t at_most, Part part, const Scorer& scorer,
                  const GroupOf& group_of) {
  Scored all;
  score_some(
      dataset, std::min(at_most, dataset.size()), part, scorer,
      [&](std::span<const ExampleId> examples, const Batch& batch, std::span<const float> some) {
        all.logits.insert(all.logits.end(), some.begin(), some.end());
        all.labels.insert(all.labels.end(), batch.labels.begin(), batch.labels.end());
        if (!group_of) return;
        for (const ExampleId i : examples) all.groups.push_back(group_of(i));
      });
  return all;
}

// Returns every rank's numbers, one after the other, on the first rank.
template <class Number>
std::vector<Number> join(Communicator& ranks, const std::vector<Number>& mine) {
  std::vector<Number> all;
  const auto* bytes = reinterpret_cast<const char*>(mine.data());
  for (const std::string& part : ranks.gather({bytes, mine.size() * sizeof(Number)})) {
    const std::size_t before = all.size();
    all.resize(before + part.size() / sizeof(Number));
    if (!part.empty()) std::memcpy(all.data() + before, part.data(), part.size());
  }
  return all;
}

}  // namespace

Metrics evaluate(const Scorer& scorer, const Dataset& dataset, std::uint64_t at_most,
                 const Judgement& how) {
  return score_part(dataset, at_most, kEveryExample, scorer, how.group_of).metrics(how);
}

Metrics evaluate(Trainer& trainer, const Dataset& dataset, std::uint64_t at_most,
                 const Judgement& how) {
  const Scorer scorer = [&trainer](const Batch& batch) { return trainer.predict(batch); };
  CommThread& ranks = trainer.state().comm;
  if (ranks.size() == 1) return evaluate(scorer, dataset, at_most, how);
  const Scored here =
      score_part(dataset, at_most, {ranks.rank(), ranks.size()}, scorer, how.group_of);
  Metrics metrics;
  ranks.run([&](Communicator& all) {
    const Scored together = {join(all, here.logits), join(all, here.labels),
                             join(all, here.groups)};
    if (all.rank() == 0) metrics = together.metrics(how);
    all.broadcast(std::as_writable_bytes(std::span(&metrics, 1)), 0);
  });
  return metrics;
}

}  // namespace lazydp
