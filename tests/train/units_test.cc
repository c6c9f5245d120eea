// Training on units of several examples.

#include <gtest/gtest.h>

#include <numeric>

#include "lazydp/data/privacy_units.h"
#include "tests/support/dlrm_in_double.h"
#include "tests/support/runs.h"

namespace lazydp {
namespace {

using oracle::Settings;
using oracle::World;

Settings of_units(std::uint64_t most) {
  Settings s;
  s.sampling_rate = 0.3;
  s.examples_per_unit = most;
  return s;
}

TEST(Units, EveryClipMethodTrainsTheSameModel) {
  for (const Pooling mode : {Pooling::sum, Pooling::mean}) {
    for (const std::uint64_t most : {std::uint64_t{1}, std::uint64_t{3}, kEveryExampleOfAUnit}) {
      Settings s = of_units(most);
      s.shape = oracle::small_shape({1, 6, 50}, mode);
      const auto expected = oracle::train("dpsgd-b", s);
      for (const char* algorithm : {"dpsgd-r", "dpsgd-f", "lazydp-no-ans"}) {
        EXPECT_LT(oracle::distance(oracle::train(algorithm, s), expected), 2e-5)
            << algorithm << ", at most " << most;
      }
    }
  }
}

TEST(Units, WithoutNoiseAndClippingTrainAsSgdDoes) {
  Settings s = of_units(4);
  s.sigma = 0.0;
  s.clip = 1e9;
  const auto expected = oracle::train("sgd", s);
  for (const char* algorithm : {"dpsgd-b", "dpsgd-r", "dpsgd-f", "lazydp"}) {
    EXPECT_LT(oracle::distance(oracle::train(algorithm, s), expected), 2e-5) << algorithm;
  }
}

// One step without noise, against gradients by differences: the mean over what a unit sends,
// clipped as a whole, divided by the expected number of units.
TEST(Units, AStepIsTheSumOfClippedMeans) {
  for (const double clip : {0.05, 0.3, 1e6}) {
    Settings s = of_units(5);
    s.sigma = 0.0;
    s.clip = clip;
    s.steps = 1;
    World world(s.shape, s.key, s.sampling_rate, 40, s.examples_per_unit);
    Sample sample;
    world.sampler->draw(1, sample);
    Batch batch;
    read_sample(world.data, sample, batch);
    const auto before = world.weights();
    oracle::PlainDlrm model = {.bottom = s.shape.bottom,
                               .top = s.shape.top,
                               .dim = s.shape.dim,
                               .mean = false,
                               .rows = s.shape.table_rows,
                               .weights = {before.begin(), before.end()}};
    std::vector<double> expected(before.begin(), before.end());
    ASSERT_GT(batch.units(), 1u);
    ASSERT_GT(batch.size, batch.units()) << "some unit sends several";
    for (std::size_t u = 0; u < batch.units(); ++u) {
      const UnitExamples unit = batch.unit(u);
      std::vector<double> mean(before.size(), 0.0);
      for (std::size_t i = unit.begin; i < unit.end; ++i) {
        oracle::PlainExample e;
        e.dense.assign(batch.dense.row(i).begin(), batch.dense.row(i).end());
        e.label = batch.labels[i];
        for (const Bags& bags : batch.bags)
          e.bags.emplace_back(bags.of(i).begin(), bags.of(i).end());
        const auto g = model.gradient(e);
        for (std::size_t j = 0; j < g.size(); ++j) {
          mean[j] += g[j] / static_cast<double>(unit.size());
        }
      }
      const double norm =
          std::sqrt(std::inner_product(mean.begin(), mean.end(), mean.begin(), 0.0));
      for (std::size_t j = 0; j < mean.size(); ++j) {
        const double rate = j < world.model.parameters().size() ? s.dense_rate : s.rate;
        expected[j] -= rate * std::min(1.0, clip / norm) * mean[j] / (s.sampling_rate * 40.0);
      }
    }
    for (const char* algorithm : {"dpsgd-b", "dpsgd-r", "dpsgd-f", "lazydp-no-ans"}) {
      // Norms are bounded from above: factors may be 1 % smaller.
      const double tolerance = clip < 1.0 ? 1e-5 + 0.01 * clip * s.rate / 12.0 : 2e-5;
      EXPECT_LT(oracle::distance(oracle::train(algorithm, s), expected), tolerance)
          << algorithm << ", clip norm " << clip;
    }
  }
}

// Where every unit has one example, units at K = 1 are examples: the same bits.
TEST(Units, OfOneExampleTrainTheModelOfTheirExamples) {
  const Settings s;
  const auto expected = oracle::train("lazydp", s);
  World world(s.shape, s.key, s.sampling_rate);
  const PrivacyUnits units(std::vector<std::uint64_t>(40, 0));
  const auto sampler = make_unit_sampler(world.seed, units, s.sampling_rate, "a person", 1);
  Trainer trainer(oracle::plan_of("lazydp", s), {}, world.seed, world.model, s.shape.mode,
                  world.tables, world.data, *sampler);
  for (Step t = 1; t <= s.steps; ++t) trainer.step();
  trainer.settle_all();
  EXPECT_EQ(world.weights(), expected);
}

}  // namespace
}  // namespace lazydp
