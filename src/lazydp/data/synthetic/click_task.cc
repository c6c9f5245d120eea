#include "lazydp/data/synthetic/click_task.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/data/batch.h"
#include "lazydp/data/synthetic/access_law.h"
#include "lazydp/data/synthetic/example_random.h"
#include "lazydp/random/stream.h"

namespace lazydp {

namespace {

// Streams of the public seed; the families of ExampleRandom have the numbers below.
enum class Hidden : TableId { effects = 16, vectors = 17, weights = 18 };

std::vector<double> draw_normals(Hidden what, ClickSize size, std::size_t count, double std) {
  RandomStream random(Seed::fixed(kClickSeed), Purpose::public_data, static_cast<TableId>(what),
                      static_cast<Step>(size));
  std::vector<double> values(count);
  for (double& value : values) value = std * random.normal();
  return values;
}

}  // namespace

ClickShape ClickShape::of(ClickSize size) {
  if (size == ClickSize::small) {
    return {.rows = 10'000,
            .train = 200'000,
            .held_out = 50'000,
            .with_effect = 500,
            .with_vector = 100,
            .scale = 0.43967,
            .shift = -0.97731};
  }
  return {.rows = 100'000,
          .train = 1'000'000,
          .held_out = 50'000,
          .with_effect = 2'000,
          .with_vector = 300,
          .scale = 0.41058,
          .shift = -1.27363};
}

ClickTruth::ClickTruth(ClickSize size)
    : shape_(ClickShape::of(size)),
      effects_(draw_normals(Hidden::effects, size, kClickTables * shape_.with_effect, 1.0)),
      vectors_(
          draw_normals(Hidden::vectors, size, kClickTables * shape_.with_vector * kVector, 0.3)),
      weights_(draw_normals(Hidden::weights, size, kClickFeatures, 0.5)) {}

double ClickTruth::probability(std::span<const std::uint32_t> ids,
                               std::span<const float> dense) const {
  return 1.0 / (1.0 + std::exp(-(shape_.scale * raw_logit(ids, dense) + shape_.shift)));
}

// The sum over pairs is half the difference between the square of the sum and the sum of the
// squares.
double ClickTruth::raw_logit(std::span<const std::uint32_t> ids,
                             std::span<const float> dense) const {
  double logit = 0.0;
  double squares = 0.0;
  std::array<double, kVector> sum{};
  for (std::size_t k = 0; k < kClickTables; ++k) {
    if (ids[k] < shape_.with_effect) logit += effects_[k * shape_.with_effect + ids[k]];
    if (ids[k] >= shape_.with_vector) continue;
    const double* v = &vectors_[(k * shape_.with_vector + ids[k]) * kVector];
    for (std::size_t j = 0; j < kVector; ++j) {
      sum[j] += v[j];
      squares += v[j] * v[j];
    }
  }
  for (const double s : sum) logit += 0.5 * s * s;
  logit -= 0.5 * squares;
  for (std::size_t i = 0; i < kClickFeatures; ++i) logit += weights_[i] * double{dense[i]};
  return logit;
}

namespace {

// Returns -p log p, which is 0 at 0.
double surprise(double p) {
  return p > 0.0 ? -p * std::log(p) : 0.0;
}

}  // namespace

// Goes from the least to the most probable example. Each counts as a positive with weight p, above
// all negatives seen so far. Equal examples are taken together. No example is paired with itself.
BayesScores bayes_scores(std::span<const double> probabilities) {
  std::vector<double> sorted(probabilities.begin(), probabilities.end());
  std::sort(sorted.begin(), sorted.end());
  double positives = 0.0;
  double negatives = 0.0;
  double with_itself = 0.0;
  double right = 0.0;
  double loss = 0.0;
  for (std::size_t i = 0; i < sorted.size();) {
    const double p = sorted[i];
    std::size_t end = i;
    while (end < sorted.size() && sorted[end] == p) ++end;
    const auto equal = static_cast<double>(end - i);
    right += equal * p * (negatives + 0.5 * (equal - 1.0) * (1.0 - p));
    positives += equal * p;
    negatives += equal * (1.0 - p);
    with_itself += equal * p * (1.0 - p);
    loss += equal * (surprise(p) + surprise(1.0 - p));
    i = end;
  }
  return {.auc = right / (positives * negatives - with_itself),
          .logloss = loss / static_cast<double>(sorted.size())};
}

namespace {

constexpr std::size_t kExamplesPerTask = 256;

// Returns the task's family of ExampleRandom; 0 is that of the timing data.
TableId family_of(ClickSize size) {
  return size == ClickSize::small ? 1 : 2;
}

struct ClickExamples {
  ClickExamples(std::size_t count, RowId table_rows)
      : rows(table_rows), dense(count, kClickFeatures), ids(count * kClickTables), labels(count) {}

  std::span<std::uint32_t> ids_of(std::size_t i) { return {&ids[i * kClickTables], kClickTables}; }
  std::span<const std::uint32_t> ids_of(std::size_t i) const {
    return {&ids[i * kClickTables], kClickTables};
  }

  RowId rows;
  Matrix dense;
  std::vector<std::uint32_t> ids;
  std::vector<std::uint8_t> labels;
};

class ClickDataset final : public Dataset {
 public:
  explicit ClickDataset(ClickExamples examples) : all_(std::move(examples)) {}

  std::uint64_t size() const override { return all_.labels.size(); }
  std::size_t dense_features() const override { return kClickFeatures; }
  std::vector<RowId> table_rows() const override {
    return std::vector<RowId>(kClickTables, all_.rows);
  }

  void read(std::span<const ExampleId> examples, Batch& batch) const override {
    shape_batch(batch, examples.size(), kClickFeatures, kClickTables, 1);
    parallel_blocks(examples.size(), kExamplesPerTask, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) copy_example(examples[i], i, batch);
    });
  }

 private:
  void copy_example(ExampleId example, std::size_t place, Batch& batch) const {
    check(example < size(), "example within the data set");
    std::ranges::copy(all_.dense.row(example), batch.dense.row(place).begin());
    batch.labels[place] = all_.labels[example];
    const auto ids = all_.ids_of(example);
    for (std::size_t k = 0; k < kClickTables; ++k) batch.bags[k].ids[place] = ids[k];
  }

  ClickExamples all_;
};

struct Made {
  ClickExamples examples;
  std::vector<double> probabilities;
};

// Makes examples first ... first + count - 1 of the task, with the probability of a click on each.
Made make_examples(const ClickTruth& truth, const ExampleKey& key, ExampleId first,
                   std::size_t count) {
  const Zipf zipf(static_cast<std::uint64_t>(truth.shape().rows), kClickZipfExponent);
  Made made = {{count, truth.shape().rows}, std::vector<double>(count)};
  parallel_blocks(count, kExamplesPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      ExampleRandom random(key, first + i);
      const auto dense = made.examples.dense.row(i);
      random.normals(dense);
      const auto ids = made.examples.ids_of(i);
      for (std::uint32_t& id : ids) id = static_cast<std::uint32_t>(zipf.draw(random));
      made.probabilities[i] = truth.probability(ids, dense);
      made.examples.labels[i] = random.uniform() < made.probabilities[i] ? 1 : 0;
    }
  });
  return made;
}

}  // namespace

ClickTask make_click_task(ClickSize size) {
  const ClickTruth truth(size);
  const ExampleKey key(kClickSeed, family_of(size));
  const ClickShape& shape = truth.shape();
  Made train = make_examples(truth, key, 0, shape.train);
  Made held_out = make_examples(truth, key, shape.train, shape.held_out);
  const BayesScores best = bayes_scores(held_out.probabilities);
  return {.train = std::make_unique<ClickDataset>(std::move(train.examples)),
          .held_out = std::make_unique<ClickDataset>(std::move(held_out.examples)),
          .bayes_auc = best.auc,
          .bayes_logloss = best.logloss};
}

}  // namespace lazydp
