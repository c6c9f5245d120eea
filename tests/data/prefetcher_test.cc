// Reading ahead changes when a batch is read, never what is in it.

#include <gtest/gtest.h>

#include "lazydp/base/error.h"
#include "lazydp/data/batch_queue.h"
#include "lazydp/data/synthetic/synthetic.h"

namespace lazydp {
namespace {

std::unique_ptr<Dataset> some_data() {
  return make_timing_dataset(
      {.examples = 1000, .dense_features = 3, .table_rows = {50, 7}, .pooling = 2}, AccessLaw{0.0});
}

void expect_same(const Batch& a, const Batch& b) {
  ASSERT_EQ(a.size, b.size);
  EXPECT_EQ(a.labels, b.labels);
  for (std::size_t k = 0; k < a.bags.size(); ++k) EXPECT_EQ(a.bags[k].ids, b.bags[k].ids);
}

class EveryQueue : public testing::TestWithParam<LookAhead> {};
INSTANTIATE_TEST_SUITE_P(ReadAhead, EveryQueue, testing::Values(LookAhead::off, LookAhead::on));

TEST_P(EveryQueue, GivesTheSameBatchesInAnyOrder) {
  const auto data = some_data();
  const auto sampler = make_poisson_sampler(Seed::fixed(1), data->size(), 0.05);
  BatchQueue plain(*data, *sampler, GetParam());
  BatchQueue ahead(*data, *sampler, GetParam(), Reading::ahead);
  for (const Step t : {1u, 2u, 3u, 4u, 9u, 10u, 2u, 3u, 3u, 4u, 5u}) {
    plain.advance(t);
    ahead.advance(t);
    expect_same(plain.current(), ahead.current());
    if (GetParam() == LookAhead::on) expect_same(plain.next(), ahead.next());
  }
}

// Fails for the examples of some steps.
class FailingData final : public Dataset {
 public:
  std::uint64_t size() const override { return 10; }
  std::size_t dense_features() const override { return 1; }
  std::vector<RowId> table_rows() const override { return {1}; }
  void read(std::span<const ExampleId> examples, Batch& batch) const override {
    if (examples.front() == 3) throw IoError("the disk is gone");
    batch.size = examples.size();
  }
};

// The batch of step t is example t.
class StepSampler final : public Sampler {
 public:
  void draw(Step t, Sample& sample) const override { sample.examples = {t}; }
  Sampling sampling() const override { return Sampling::shuffled; }
};

TEST(ReadAhead, TellsOfAFailureWhenItsStepComesAndGoesOn) {
  const FailingData data;
  const StepSampler sampler;
  ReadAhead ahead(data, sampler);
  Batch batch;
  ahead.read(1, batch);
  ahead.read(2, batch);
  EXPECT_THROW(ahead.read(3, batch), IoError);
  ahead.read(4, batch);
  EXPECT_EQ(batch.size, 1u);
}

TEST(ReadAhead, EndsWithoutHavingBeenAsked) {
  const FailingData data;
  const StepSampler sampler;
  const ReadAhead unused(data, sampler);
  ReadAhead used(data, sampler);
  Batch batch;
  used.read(2, batch);  // and is at work on the step that fails when it ends
}

}  // namespace
}  // namespace lazydp
