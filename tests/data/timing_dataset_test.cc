
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/data/synthetic/synthetic.h"
#include "lazydp/random/cell.h"
#include "statistics.h"

namespace lazydp {
namespace {

std::vector<ExampleId> first_examples(std::size_t count) {
  std::vector<ExampleId> examples(count);
  std::iota(examples.begin(), examples.end(), 0);
  return examples;
}

Batch read(const Dataset& dataset, const std::vector<ExampleId>& examples) {
  Batch batch;
  dataset.read(examples, batch);
  return batch;
}

// Everything that makes up example `place` of a batch.
struct Example {
  std::vector<float> dense;
  float label;
  std::vector<std::vector<RowId>> bags;
  bool operator==(const Example&) const = default;
};

Example example_at(const Batch& batch, std::size_t place) {
  Example example;
  example.dense.assign(batch.dense.row(place).begin(), batch.dense.row(place).end());
  example.label = batch.labels[place];
  for (const Bags& bags : batch.bags) {
    example.bags.emplace_back(bags.of(place).begin(), bags.of(place).end());
  }
  return example;
}

// How often each row was looked up.
std::vector<double> row_counts(const Bags& bags, std::size_t rows) {
  std::vector<double> counts(rows, 0.0);
  for (const RowId id : bags.ids) counts.at(static_cast<std::size_t>(id)) += 1.0;
  return counts;
}

class EveryLaw : public testing::TestWithParam<const char*> {
 protected:
  AccessLaw law() const { return std::get<AccessLaw>(parse_synthetic(GetParam())); }
};

INSTANTIATE_TEST_SUITE_P(TimingDataset, EveryLaw,
                         testing::Values("uniform", "zipf:1", "skew:36", "skew:0.6"),
                         [](const auto& param_info) {
                           return "Law" + std::to_string(param_info.index);
                         });

TEST_P(EveryLaw, BatchesHaveTheShapeAskedForAndIdsInRange) {
  const std::vector<RowId> rows = {1, 2, 3, 1000, kMaxRows};
  const auto dataset = make_timing_dataset(
      {.examples = 5000, .dense_features = 7, .table_rows = rows, .pooling = 4}, law());
  EXPECT_EQ(dataset->size(), 5000u);
  EXPECT_EQ(dataset->dense_features(), 7u);
  EXPECT_EQ(dataset->table_rows(), rows);
  Batch batch = read(*make_timing_dataset({.examples = 10, .table_rows = {5}}, law()), {1, 2});
  batch.bags[0].weights = {1.0f, 2.0f};  // left over from an earlier batch
  for (const std::size_t size : {0, 1, 5000, 3}) {
    dataset->read(first_examples(size), batch);
    ASSERT_EQ(batch.size, size);
    ASSERT_EQ(batch.dense.rows(), size);
    ASSERT_EQ(batch.dense.cols(), 7u);
    ASSERT_EQ(batch.labels.size(), size);
    ASSERT_EQ(batch.bags.size(), rows.size());
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const Bags& bags = batch.bags[k];
      ASSERT_EQ(bags.size(), size);
      ASSERT_EQ(bags.ids.size(), 4 * size);
      EXPECT_TRUE(bags.weights.empty());
      for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(bags.length(i), 4u);
      EXPECT_TRUE(std::ranges::all_of(bags.ids, [&](RowId id) { return id >= 0 && id < rows[k]; }));
    }
  }
}

TEST_P(EveryLaw, AnExampleIsTheSameWhereverAndWheneverItIsRead) {
  const TimingShape shape = {.examples = 1'000'000, .table_rows = {100, 40'000'000}, .pooling = 30};
  const auto dataset = make_timing_dataset(shape, law());
  const Batch all = read(*dataset, first_examples(300));
  const Batch some = read(*make_timing_dataset(shape, law()), {299, 7, 7, 999'999});
  EXPECT_EQ(example_at(some, 0), example_at(all, 299));
  EXPECT_EQ(example_at(some, 1), example_at(all, 7));
  EXPECT_EQ(example_at(some, 2), example_at(all, 7));
  EXPECT_NE(example_at(some, 1), example_at(some, 3));
  EXPECT_NE(example_at(read(*make_timing_dataset(shape, law(), 2), {7}), 0), example_at(all, 7));
}

TEST_P(EveryLaw, ThreadsChangeNothing) {
  const auto dataset = make_timing_dataset(
      {.examples = 10'000, .table_rows = {100, 40'000'000}, .pooling = 3}, law());
  const int threads = thread_count();
  std::vector<std::vector<Example>> runs;
  for (const int n : {1, 2, 3}) {
    set_thread_count(n);
    const Batch batch = read(*dataset, first_examples(2000));
    runs.emplace_back();
    for (std::size_t i = 0; i < batch.size; ++i) runs.back().push_back(example_at(batch, i));
  }
  set_thread_count(threads);
  EXPECT_EQ(runs[0], runs[1]);
  EXPECT_EQ(runs[0], runs[2]);
}

TEST(TimingDataset, UniformLookUpsHitEveryRowAlike) {
  constexpr std::size_t kRows = 1000;
  const auto dataset =
      make_timing_dataset({.examples = 20'000, .table_rows = {kRows, kRows}, .pooling = 10}, {});
  const Batch batch = read(*dataset, first_examples(20'000));
  for (const Bags& bags : batch.bags) {
    EXPECT_LT(chi_square_excess(row_counts(bags, kRows), std::vector<double>(kRows, 200.0)), 1.0);
  }
}

TEST(TimingDataset, ZipfLookUpsFollowTheLawOnceSorted) {
  constexpr std::size_t kRows = 101;
  constexpr double kExponent = 1.05;
  const auto dataset =
      make_timing_dataset({.examples = 20'000, .table_rows = {kRows}, .pooling = 10}, {kExponent});
  auto counts = row_counts(read(*dataset, first_examples(20'000)).bags[0], kRows);
  std::ranges::sort(counts, std::greater<>());
  double total = 0.0;
  for (std::size_t k = 1; k <= kRows; ++k) total += std::pow(static_cast<double>(k), -kExponent);
  for (const std::size_t k : {1, 2, 4, 8, 16}) {  // sorting disturbs only ranks of similar counts
    const double expected = 200'000.0 * std::pow(static_cast<double>(k), -kExponent) / total;
    EXPECT_LT(std::abs(counts[k - 1] - expected) / std::sqrt(expected), kLargestZ) << k;
  }
}

TEST(TimingDataset, ScatteringReachesEveryRow) {
  std::vector<RowId> rows(64);
  std::iota(rows.begin(), rows.end(), 1);
  const auto dataset =
      make_timing_dataset({.examples = 1000, .table_rows = rows, .pooling = 10}, {0.5});
  const Batch batch = read(*dataset, first_examples(1000));
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const auto counts = row_counts(batch.bags[k], k + 1);
    EXPECT_EQ(std::ranges::count(counts, 0.0), 0) << rows[k];
  }
}

TEST(TimingDataset, HotRowsAreScatteredOverTheTable) {
  constexpr RowId kRows = 40'000'000;
  const auto dataset =
      make_timing_dataset({.examples = 20'000, .table_rows = {kRows}, .pooling = 10}, {1.13});
  auto ids = read(*dataset, first_examples(20'000)).bags[0].ids;
  std::vector<double> tenths(10, 0.0);
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  for (const RowId id : ids) tenths[static_cast<std::size_t>(id / (kRows / 10))] += 1.0;
  for (const double tenth : tenths) EXPECT_NEAR(tenth / static_cast<double>(ids.size()), 0.1, 0.01);
  std::size_t neighbours = 0;
  for (std::size_t i = 1; i < ids.size(); ++i) neighbours += ids[i] == ids[i - 1] + 1 ? 1 : 0;
  EXPECT_LT(neighbours, ids.size() / 100);
}

TEST(TimingDataset, FeaturesAreStandardNormalAndLabelsFair) {
  constexpr std::size_t kExamples = 20'000;
  const auto dataset = make_timing_dataset({.examples = kExamples, .table_rows = {10}}, {});
  const Batch batch = read(*dataset, first_examples(kExamples));
  const double n = kExamples * 13.0;
  double sum = 0.0;
  double squares = 0.0;
  for (std::size_t i = 0; i < kExamples; ++i) {
    for (const float x : batch.dense.row(i)) {
      sum += double{x};
      squares += double{x} * double{x};
    }
  }
  EXPECT_LT(std::abs(sum / std::sqrt(n)), kLargestZ);
  EXPECT_LT(std::abs((squares - n) / std::sqrt(2.0 * n)), kLargestZ);
  const auto positives = static_cast<double>(std::ranges::count(batch.labels, 1.0f));
  EXPECT_EQ(std::ranges::count(batch.labels, 0.0f) + positives, kExamples);
  EXPECT_LT(std::abs(positives - kExamples / 2.0) / std::sqrt(kExamples / 4.0), kLargestZ);
}

TEST(TimingDataset, RefusesImpossibleShapes) {
  const TimingShape good = {.examples = 10, .table_rows = {5}};
  EXPECT_NO_THROW(make_timing_dataset(good, {}));
  const auto refused = [&](auto change) {
    TimingShape shape = good;
    change(shape);
    EXPECT_THROW(make_timing_dataset(shape, {}), UserError);
  };
  refused([](TimingShape& shape) { shape.examples = 0; });
  refused([](TimingShape& shape) { shape.examples = ~std::uint64_t{0}; });
  refused([](TimingShape& shape) { shape.pooling = 0; });
  refused([](TimingShape& shape) { shape.dense_features = 4097; });
  refused([](TimingShape& shape) { shape.table_rows = {5, 0}; });
  refused([](TimingShape& shape) { shape.table_rows = {kMaxRows + 1}; });
  for (const double exponent : {-0.1, 11.0, std::nan("")}) {
    EXPECT_THROW(make_timing_dataset(good, {exponent}), UserError) << exponent;
  }
}

}  // namespace
}  // namespace lazydp
