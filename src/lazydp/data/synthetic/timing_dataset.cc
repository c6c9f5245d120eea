// Examples without meaning, for timing: only which rows they look up matters.

#include <optional>
#include <string>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/data/batch.h"
#include "lazydp/data/samplers.h"
#include "lazydp/data/synthetic/access_law.h"
#include "lazydp/data/synthetic/example_random.h"
#include "lazydp/data/synthetic/synthetic.h"

namespace lazydp {
namespace {

constexpr TableId kTimingFamily = 0;
constexpr std::size_t kExamplesPerTask = 64;

class TimingDataset final : public Dataset {
 public:
  TimingDataset(TimingShape shape, AccessLaw law, std::uint64_t public_seed)
      : shape_(std::move(shape)), key_(public_seed, kTimingFamily) {
    for (const RowId rows : shape_.table_rows) {
      const auto n = static_cast<std::uint64_t>(rows);
      tables_.push_back({.rows = n, .scatter = Scatter(n), .zipf = std::nullopt});
      if (law.zipf_exponent > 0.0) tables_.back().zipf.emplace(n, law.zipf_exponent);
    }
  }

  std::uint64_t size() const override { return shape_.examples; }
  std::size_t dense_features() const override { return shape_.dense_features; }
  std::vector<RowId> table_rows() const override { return shape_.table_rows; }

  void read(std::span<const ExampleId> examples, Batch& batch) const override {
    shape_batch(batch, examples.size(), shape_.dense_features, tables_.size(), shape_.pooling);
    parallel_blocks(examples.size(), kExamplesPerTask, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) make_example(examples[i], i, batch);
    });
  }

 private:
  struct LookUps {
    std::uint64_t rows;
    Scatter scatter;
    std::optional<Zipf> zipf;
  };

  void make_example(ExampleId example, std::size_t place, Batch& batch) const {
    check(example < shape_.examples, "example within the data set");
    ExampleRandom random(key_, example);
    random.normals(batch.dense.row(place));
    batch.labels[place] = static_cast<float>(random.below(2));
    for (std::size_t k = 0; k < tables_.size(); ++k) {
      draw_bag(tables_[k], random, batch.bags[k].ids.data() + place * shape_.pooling);
    }
  }

  void draw_bag(const LookUps& table, ExampleRandom& random, RowId* ids) const {
    for (std::size_t j = 0; j < shape_.pooling; ++j) {
      ids[j] = table.zipf ? table.scatter(table.zipf->draw(random))
                          : static_cast<RowId>(random.below(table.rows));
    }
  }

  TimingShape shape_;
  ExampleKey key_;
  std::vector<LookUps> tables_;
};

void require(bool ok, const std::string& complaint) {
  if (!ok) throw UserError(complaint);
}

}  // namespace

std::unique_ptr<Dataset> make_timing_dataset(const TimingShape& shape, AccessLaw law,
                                             std::uint64_t public_seed) {
  require(shape.examples >= 1 && shape.examples <= kMaxExamples,
          "examples is " + std::to_string(shape.examples) + "; it must be between 1 and 2^40");
  require(
      shape.dense_features <= kMaxDim,
      "dense_features is " + std::to_string(shape.dense_features) + "; it must be at most 4096");
  require(shape.pooling >= 1 && shape.pooling <= 1'000'000,
          "pooling is " + std::to_string(shape.pooling) + "; it must be between 1 and 1000000");
  for (const RowId rows : shape.table_rows) {
    require(rows >= 1 && rows <= kMaxRows,
            "a table has " + std::to_string(rows) + " rows; it must have between 1 and 2^40");
  }
  require(law.zipf_exponent >= 0.0 && law.zipf_exponent <= kMaxZipfExponent,
          "the Zipf exponent is " + std::to_string(law.zipf_exponent) +
              "; it must be between 0 (uniform) and 10");
  return std::make_unique<TimingDataset>(shape, law, public_seed);
}

}  // namespace lazydp
