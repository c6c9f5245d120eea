#include "lazydp/data/synthetic/click_task.h"

#include <algorithm>
#include <span>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/data/batch_shape.h"
#include "lazydp/data/synthetic/bayes.h"
#include "lazydp/data/synthetic/example_random.h"
#include "lazydp/data/synthetic/zipf.h"

namespace lazydp {
namespace {

constexpr std::size_t kExamplesPerTask = 256;

// Families of ExampleRandom; 0 is that of the timing data.
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

// Examples number first ... first + count - 1 of the task, and how probable a click on each is.
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
