#include "lazydp/data/batch_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <new>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/data/synthetic/synthetic.h"

namespace {
std::atomic<long> allocations{0};  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace lazydp {
namespace {

// Step t takes examples t and 10 t, but none at all when t is a multiple of 4.
class StepSampler final : public Sampler {
 public:
  void draw(Step t, Sample& sample) const override {
    sample.examples.clear();
    if (t % 4 == 0) return;
    sample.examples = {t, ExampleId{10} * t};
  }
  Sampling sampling() const override { return Sampling::shuffled; }
};

// One table; an example looks up its own number. Counts how often each example is read.
class EchoDataset final : public Dataset {
 public:
  std::uint64_t size() const override { return 10'000; }
  std::size_t dense_features() const override { return 1; }
  std::vector<RowId> table_rows() const override { return {10'000}; }
  void read(std::span<const ExampleId> examples, Batch& batch) const override {
    if (fail) throw IoError("the disk is gone");
    batch.size = examples.size();
    batch.dense.reshape(examples.size(), 1);
    batch.labels.assign(examples.size(), 0.0f);
    batch.bags.resize(1);
    batch.bags[0].clear();
    for (const ExampleId example : examples) {
      ++reads[example];
      batch.bags[0].ids.push_back(static_cast<RowId>(example));
      batch.bags[0].offsets.push_back(batch.bags[0].ids.size());
    }
  }
  mutable std::map<ExampleId, int> reads;
  bool fail = false;
};

std::vector<RowId> rows(const Batch& batch) {
  return batch.bags[0].ids;
}

TEST(BatchQueue, HoldsThisStepAndTheNext) {
  const EchoDataset dataset;
  const StepSampler sampler;
  BatchQueue queue(dataset, sampler);
  queue.advance(1);
  EXPECT_EQ(rows(queue.current()), (std::vector<RowId>{1, 10}));
  EXPECT_EQ(rows(queue.next()), (std::vector<RowId>{2, 20}));
  queue.advance(2);
  EXPECT_EQ(rows(queue.current()), (std::vector<RowId>{2, 20}));
  EXPECT_EQ(rows(queue.next()), (std::vector<RowId>{3, 30}));
  queue.advance(3);
  queue.advance(4);
  EXPECT_EQ(queue.current().size, 0u);  // an empty batch is still a step
  EXPECT_EQ(rows(queue.next()), (std::vector<RowId>{5, 50}));
}

TEST(BatchQueue, ReadsEveryBatchOnce) {
  const EchoDataset dataset;
  const StepSampler sampler;
  BatchQueue queue(dataset, sampler);
  for (const Step t : {1, 1, 2, 3, 3, 4, 5}) queue.advance(t);
  for (const auto& [example, times] : dataset.reads) EXPECT_EQ(times, 1) << example;
}

TEST(BatchQueue, WhatAStepReadsDoesNotDependOnThePast) {
  const EchoDataset dataset;
  const StepSampler sampler;
  BatchQueue queue(dataset, sampler);
  for (const Step t : {7, 3, 6, 5, 6, 1}) {
    queue.advance(t);
    BatchQueue fresh(dataset, sampler);
    fresh.advance(t);
    EXPECT_EQ(rows(queue.current()), rows(fresh.current())) << t;
    EXPECT_EQ(rows(queue.next()), rows(fresh.next())) << t;
  }
}

TEST(BatchQueue, WithoutLookAheadReadsOnlyTheCurrentBatch) {
  const EchoDataset dataset;
  const StepSampler sampler;
  BatchQueue queue(dataset, sampler, LookAhead::off);
  EXPECT_THROW(queue.current(), InternalError);
  queue.advance(1);
  EXPECT_EQ(rows(queue.current()), (std::vector<RowId>{1, 10}));
  EXPECT_EQ(dataset.reads.count(2), 0u);
  EXPECT_THROW(queue.next(), InternalError);
}

TEST(BatchQueue, ABatchThatCouldNotBeReadIsReadAgain) {
  EchoDataset dataset;
  const StepSampler sampler;
  BatchQueue queue(dataset, sampler);
  queue.advance(1);
  dataset.fail = true;
  EXPECT_THROW(queue.advance(2), IoError);
  EXPECT_THROW(queue.advance(9), IoError);
  EXPECT_THROW(queue.current(), InternalError);
  dataset.fail = false;
  queue.advance(2);
  EXPECT_EQ(rows(queue.current()), (std::vector<RowId>{2, 20}));
  EXPECT_EQ(rows(queue.next()), (std::vector<RowId>{3, 30}));
}

// Matrices do not get their memory from operator new, so their addresses are watched as well.
TEST(BatchQueue, AllocatesNothingOnceBatchesHaveHadTheirLargestSize) {
  const auto dataset = make_timing_dataset(
      {.examples = 100'000, .table_rows = {1000, 50, 77}, .pooling = 5}, AccessLaw{1.03});
  const auto sampler = make_poisson_sampler(Seed::fixed(5), dataset->size(), 0.002);
  BatchQueue queue(*dataset, *sampler);
  const auto pass = [&] {
    for (Step t = 1; t <= 100; ++t) queue.advance(t);
    return std::minmax({queue.current().dense.data(), queue.next().dense.data()});
  };
  pass();                     // each of the two entries gets every second batch,
  const auto dense = pass();  // and now the others
  const long before = allocations;
  EXPECT_EQ(pass(), dense);
  EXPECT_EQ(pass(), dense);
  EXPECT_EQ(allocations, before);
}

}  // namespace
}  // namespace lazydp
