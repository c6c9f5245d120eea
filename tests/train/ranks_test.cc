// Several ranks train the model that one process trains.

#include "tests/support/ranks.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <string>

#include "lazydp/shard/launch.h"
#include "lazydp/train/evaluation.h"

namespace lazydp {
namespace {

constexpr double kRounding = 2e-5;
constexpr RowId kNone = 0;  // no table is copied
constexpr RowId kSome = 6;  // those of 1 and 6 rows are
constexpr RowId kAll = 1000;

// Compares the model of every rank: all must end with the same weights.
void expect_same_model(std::string_view algorithm, const oracle::Settings& s, int ranks,
                       RowId small) {
  const std::vector<float> expected = oracle::train(algorithm, s);
  run_as_ranks(ranks, [&](Communicator& here) {
    const std::vector<float> weights = oracle::train_on(here, algorithm, s, small);
    EXPECT_LT(oracle::distance(weights, expected), kRounding)
        << algorithm << " on rank " << here.rank() << " of " << ranks << ", copied up to " << small;
  });
}

class OnRanks : public testing::TestWithParam<Recipe> {};

TEST_P(OnRanks, TheModelIsThatOfOneProcess) {
  for (const int ranks : {1, 2, 4}) {
    for (const RowId small : {kNone, kSome, kAll}) {
      expect_same_model(GetParam().name, {}, ranks, small);
    }
  }
}

TEST_P(OnRanks, WithLookAheadEvaluationDecayAndMeans) {
  oracle::Settings s;
  s.shape = oracle::small_shape({1, 6, 50}, Pooling::mean);
  s.ahead = true;
  s.evaluate = true;
  s.weight_decay = 0.1;
  s.rates = "cosine";
  for (const int ranks : {2, 4}) expect_same_model(GetParam().name, s, ranks, kSome);
  s.ahead = false;
  expect_same_model(GetParam().name, s, 3, kSome);
}

TEST_P(OnRanks, WithUnitsOfSeveralExamples) {
  oracle::Settings s;
  s.sampling_rate = 0.3;
  s.examples_per_unit = 4;
  for (const int ranks : {2, 3}) expect_same_model(GetParam().name, s, ranks, kSome);
}

TEST(RanksUnderCorrelatedNoise, TrainTheModelOfOneProcess) {
  oracle::Settings s;
  s.bands = {1.0, -0.9, 0.1};
  s.ahead = true;
  s.evaluate = true;
  s.weight_decay = 0.1;
  s.rates = "cosine";
  for (const char* algorithm : {"dpsgd-f", "lazydp-no-ans", "lazydp"}) {
    for (const int ranks : {2, 3}) {
      for (const RowId small : {kNone, kSome}) expect_same_model(algorithm, s, ranks, small);
    }
  }
}

TEST_P(OnRanks, WithMomentumOfTables) {
  oracle::Settings s;
  s.table_rule = TableRule::momentum;
  s.rate = 0.1;
  s.weight_decay = 0.1;
  s.evaluate = true;
  for (const int ranks : {2, 4}) expect_same_model(GetParam().name, s, ranks, kSome);
}

TEST_P(OnRanks, WithPartsFrozen) {
  oracle::Settings s;
  s.evaluate = true;
  s.frozen = {.tables = {0, 2}, .layers = {"top.0"}};
  for (const int ranks : {2, 4}) expect_same_model(GetParam().name, s, ranks, kSome);
  s.frozen = {.tables = {0, 1, 2}, .layers = {}};
  s.table_rule = TableRule::momentum;
  expect_same_model(GetParam().name, s, 2, kNone);
}

TEST(SgdOnRanks, WithAdaptiveRulesOfTables) {
  oracle::Settings s;
  s.rate = 0.02;
  for (const TableRule rule : {TableRule::adam, TableRule::adagrad}) {
    s.table_rule = rule;
    s.frozen = {};
    for (const int ranks : {2, 4}) expect_same_model("sgd", s, ranks, kSome);
    s.frozen.tables = {1};
    expect_same_model("sgd", s, 3, kNone);
  }
}

// With three examples a step, half of eight ranks have none; some steps have none at all. The
// tables of 1 and 6 rows leave some ranks without a row.
TEST_P(OnRanks, WithRanksThatHaveNeitherExamplesNorRows) {
  oracle::Settings s;
  s.evaluate = true;
  expect_same_model(GetParam().name, s, 8, kNone);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, OnRanks, testing::ValuesIn(kRecipes), [](const auto& which) {
  std::string name(which.param.name);
  std::erase(name, '-');
  return name;
});

// Only rank 0's rows are ever looked up.
class HotData final : public Dataset {
 public:
  explicit HotData(const oracle::MadeUpData& data) : data_(data) {}
  std::uint64_t size() const override { return data_.size(); }
  std::size_t dense_features() const override { return data_.dense_features(); }
  std::vector<RowId> table_rows() const override { return data_.table_rows(); }
  void read(std::span<const ExampleId> ids, Batch& batch) const override {
    data_.read(ids, batch);
    for (Bags& bags : batch.bags) {
      for (RowId& id : bags.ids) id %= 3;
    }
  }

 private:
  const oracle::MadeUpData& data_;
};

TEST(Ranks, OneOfThemMayOwnAllHotRows) {
  oracle::Settings s;
  s.shape = oracle::small_shape({20, 50});
  const auto steps = [&](Trainer& trainer) {
    for (Step t = 1; t <= s.steps; ++t) trainer.step();
    trainer.settle_all();
  };
  oracle::World world(s.shape, s.key, s.sampling_rate);
  const HotData hot(world.data);
  Trainer one(oracle::plan_of("lazydp", s), {}, world.seed, world.model, s.shape.mode, world.tables,
              hot, *world.sampler);
  steps(one);
  const std::vector<float> expected = world.weights();
  run_as_ranks(4, [&](Communicator& ranks) {
    oracle::RankWorld part(ranks, s, kNone);
    Trainer trainer(oracle::plan_of("lazydp", s), {}, part.whole.seed, part.whole.model,
                    s.shape.mode, part.tables, hot, *part.sampler, TableStorage::memory(),
                    part.exchange());
    steps(trainer);
    EXPECT_LT(oracle::distance(part.weights(), expected), kRounding);
  });
}

TEST(Ranks, ReportsAreOfAllOfThem) {
  oracle::Settings s;
  oracle::World world(s.shape, s.key, s.sampling_rate);
  Trainer one(oracle::plan_of("lazydp", s), {}, world.seed, world.model, s.shape.mode, world.tables,
              world.data, *world.sampler);
  std::vector<StepReport> expected;
  for (Step t = 1; t <= s.steps; ++t) expected.push_back(one.step());
  run_as_ranks(3, [&](Communicator& ranks) {
    oracle::RankWorld part(ranks, s, kSome);
    Trainer trainer(oracle::plan_of("lazydp", s), {}, part.whole.seed, part.whole.model,
                    s.shape.mode, part.tables, part.whole.data, *part.sampler,
                    TableStorage::memory(), part.exchange());
    for (const StepReport& report : expected) {
      const StepReport& here = trainer.step(ranks.rank() == 2 && report.step == 4);
      EXPECT_EQ(here.examples, report.examples);
      if (report.examples > 0) {
        EXPECT_NEAR(here.mean_loss, report.mean_loss, 1e-5);
      }
      EXPECT_EQ(here.stop, report.step == 4);  // one rank asks, all learn of it
    }
    EXPECT_EQ(trainer.ledger().steps(), one.ledger().steps());
  });
}

TEST(Ranks, EvaluateTogetherWhatOneProcessEvaluates) {
  const oracle::Settings s;
  oracle::World world(s.shape, s.key, s.sampling_rate);
  Trainer one(oracle::plan_of("lazydp", s), {}, world.seed, world.model, s.shape.mode, world.tables,
              world.data, *world.sampler);
  for (Step t = 1; t <= 5; ++t) one.step();
  const Metrics expected = evaluate(one, world.data);
  run_as_ranks(3, [&](Communicator& ranks) {
    oracle::RankWorld part(ranks, s, kSome);
    Trainer trainer(oracle::plan_of("lazydp", s), {}, part.whole.seed, part.whole.model,
                    s.shape.mode, part.tables, part.whole.data, *part.sampler,
                    TableStorage::memory(), part.exchange());
    for (Step t = 1; t <= 5; ++t) trainer.step();
    const Metrics metrics = evaluate(trainer, part.whole.data);
    EXPECT_EQ(metrics.examples, expected.examples);
    EXPECT_NEAR(metrics.auc, expected.auc, 1e-6);
    EXPECT_NEAR(metrics.logloss, expected.logloss, 1e-5);
  });
}

// Returns the bytes that rank `here` has to send for its part of a batch, counted id by id: row
// numbers of 4 bytes to each owner; a vector and its gradient for each bag and other rank that owns
// some of it, which are sent by both sides; every dense number out and back in parts.
double least_bytes(const Batch& batch, const Layout& layout, int here, std::size_t dim,
                   std::size_t dense) {
  double bytes = 8.0 * static_cast<double>(dense) * (layout.ranks() - 1) / layout.ranks();
  for (std::size_t k = 0; k < batch.bags.size(); ++k) {
    for (std::size_t i = 0; i < batch.size; ++i) {
      std::set<int> owners;
      for (const RowId row : batch.bags[k].of(i)) {
        if (layout.owner(k, row) == here) continue;
        owners.insert(layout.owner(k, row));
        bytes += 4.0;
      }
      bytes += 2.0 * 4.0 * static_cast<double>(dim * owners.size());
    }
  }
  return bytes;
}

TEST(Ranks, SendWhatMustTravelAndNotATenthMore) {
  oracle::Settings s;
  s.shape = oracle::small_shape({5000, 3000, 4000});
  s.shape.dim = 32;
  s.shape.bottom = {3, 5, 32};
  s.sampling_rate = 1.0;
  for (const int ranks : {2, 4}) {
    double least = 0.0;
    double sent = 0.0;
    std::mutex guard;
    run_as_ranks(ranks, [&](Communicator& here) {
      oracle::RankWorld part(here, s, kNone);
      Trainer trainer(oracle::plan_of("lazydp", s), {}, part.whole.seed, part.whole.model,
                      s.shape.mode, part.tables, part.whole.data, *part.sampler,
                      TableStorage::memory(), part.exchange());
      trainer.step();
      trainer.state().comm.run([](Communicator& all) { all.barrier(); });
      const std::uint64_t before = here.traffic().bytes;
      trainer.step();  // the sample is every example, every time: so are the rows that are
                       // requested ahead
      trainer.state().comm.run([](Communicator& all) { all.barrier(); });
      Sample sample;
      part.sampler->draw(2, sample);
      Batch batch;
      read_sample(part.whole.data, sample, batch);
      const std::lock_guard lock(guard);
      sent += static_cast<double>(here.traffic().bytes - before);
      least += least_bytes(batch, part.layout, here.rank(), s.shape.dim,
                           part.whole.model.parameters().size());
    });
    EXPECT_GE(sent, least);
    EXPECT_LT(sent, 1.1 * least) << ranks << " ranks";
  }
}

}  // namespace
}  // namespace lazydp
