#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/data/samplers.h"
#include "statistics.h"

namespace lazydp {
namespace {

constexpr std::uint64_t kPopulation = 500;
constexpr Step kSteps = 8000;
constexpr double kRate = 0.03;

std::vector<ExampleId> draw(const Sampler& sampler, Step t) {
  Sample sample;
  sampler.draw(t, sample);
  return sample.examples;
}

// joined[t - 1][i]: example i is in the batch of step t.
using Joined = std::vector<std::vector<char>>;

Joined draw_all(const Sampler& sampler) {
  Joined joined(kSteps, std::vector<char>(kPopulation, 0));
  for (Step t = 1; t <= kSteps; ++t) {
    for (const ExampleId i : draw(sampler, t)) joined[t - 1].at(i) = 1;
  }
  return joined;
}

// How many standard deviations the number of inclusions is from that at kRate.
double inclusions_z(const Joined& joined) {
  double total = 0.0;
  for (const auto& batch : joined) total += static_cast<double>(std::ranges::count(batch, 1));
  const double n = static_cast<double>(kPopulation) * kSteps;
  return (total - n * kRate) / std::sqrt(n * kRate * (1.0 - kRate));
}

// Each example's number of inclusions is binomial; their squared deviations add up to a chi-square.
double per_example_excess(const Joined& joined) {
  double statistic = 0.0;
  for (std::size_t i = 0; i < kPopulation; ++i) {
    double count = 0.0;
    for (const auto& batch : joined) count += batch[i];
    const double deviation = count - kSteps * kRate;
    statistic += deviation * deviation / (kSteps * kRate * (1.0 - kRate));
  }
  return statistic / chi_square_limit(kPopulation);
}

// The histogram of batch sizes against the binomial law.
double sizes_excess(const Joined& joined) {
  std::vector<double> observed(kPopulation + 1, 0.0);
  std::vector<double> expected(kPopulation + 1, 0.0);
  for (const auto& batch : joined)
    observed[static_cast<std::size_t>(std::ranges::count(batch, 1))] += 1;
  double probability = std::pow(1.0 - kRate, static_cast<double>(kPopulation));
  for (std::size_t k = 0; k <= kPopulation; ++k) {
    expected[k] = kSteps * probability;
    probability *=
        static_cast<double>(kPopulation - k) / static_cast<double>(k + 1) * kRate / (1.0 - kRate);
  }
  return chi_square_excess(observed, expected);
}

// How often both of two places join that are `examples` and `steps` apart, in standard deviations
// from independence. Overlapping pairs share a place, hence the second term of the variance.
double together_z(const Joined& joined, std::size_t examples, std::size_t steps) {
  double together = 0.0;
  double pairs = 0.0;
  for (std::size_t t = 0; t + steps < joined.size(); ++t) {
    for (std::size_t i = 0; i + examples < kPopulation; ++i) {
      together += joined[t][i] & joined[t + steps][i + examples];
      pairs += 1.0;
    }
  }
  const double q2 = kRate * kRate;
  const double variance = pairs * (q2 * (1.0 - q2) + 2.0 * q2 * kRate * (1.0 - kRate));
  return (together - pairs * q2) / std::sqrt(variance);
}

const Joined& joined_at_rate() {
  static const Joined joined = draw_all(*make_poisson_sampler(Seed::fixed(7), kPopulation, kRate));
  return joined;
}

TEST(PoissonSampler, ExamplesJoinAtTheRate) {
  EXPECT_LT(std::abs(inclusions_z(joined_at_rate())), kLargestZ);
  EXPECT_LT(per_example_excess(joined_at_rate()), 1.0);
  EXPECT_LT(sizes_excess(joined_at_rate()), 1.0);
}

TEST(PoissonSampler, ExamplesAndStepsAreIndependent) {
  for (const std::size_t examples : {1, 2, 3, 10}) {
    EXPECT_LT(std::abs(together_z(joined_at_rate(), examples, 0)), kLargestZ) << examples;
  }
  for (const std::size_t examples : {0, 1}) {
    EXPECT_LT(std::abs(together_z(joined_at_rate(), examples, 1)), kLargestZ) << examples;
  }
}

TEST(PoissonSampler, TheTestsCatchARateThatIsOffByFivePercent) {
  for (const double factor : {0.95, 1.05}) {
    const Joined wrong =
        draw_all(*make_poisson_sampler(Seed::fixed(7), kPopulation, kRate * factor));
    EXPECT_GT(std::abs(inclusions_z(wrong)), kLargestZ);
    EXPECT_GT(per_example_excess(wrong), 1.0);
    EXPECT_GT(sizes_excess(wrong), 1.0);
  }
}

TEST(PoissonSampler, TheTestsCatchBatchesOfFixedSize) {
  EXPECT_GT(sizes_excess(draw_all(*make_shuffled_sampler(Seed::fixed(7), kPopulation, 15))), 1.0);
}

TEST(PoissonSampler, AStepIsAPureFunctionOfSeedAndStep) {
  const auto sampler = make_poisson_sampler(Seed::fixed(1), 10'000, 0.01);
  const auto third = draw(*sampler, 3);
  const auto fourth = draw(*sampler, 4);
  EXPECT_EQ(draw(*sampler, 3), third);
  EXPECT_NE(third, fourth);
  const auto again = make_poisson_sampler(Seed::fixed(1), 10'000, 0.01);
  EXPECT_EQ(draw(*again, 4), fourth);
  EXPECT_EQ(draw(*again, 3), third);
  EXPECT_NE(draw(*make_poisson_sampler(Seed::fixed(2), 10'000, 0.01), 3), third);
}

TEST(PoissonSampler, IdsAscendAndOldOnesAreForgotten) {
  const auto sampler = make_poisson_sampler(Seed::fixed(1), 10'000, 0.05);
  Sample sample = {.examples = {99, 98, 97}, .unit_starts = {0, 3}};
  sampler->draw(1, sample);
  const std::vector<ExampleId>& examples = sample.examples;
  EXPECT_TRUE(sample.unit_starts.empty());
  EXPECT_TRUE(std::ranges::is_sorted(examples, std::less_equal<>()) &&
              std::ranges::adjacent_find(examples) == examples.end());
  EXPECT_EQ(examples, draw(*sampler, 1));
  EXPECT_LT(examples.back(), 10'000u);
}

TEST(PoissonSampler, RateOneTakesEverybody) {
  const auto sampler = make_poisson_sampler(Seed::fixed(1), 1000, 1.0);
  const auto everybody = draw(*sampler, 5);
  ASSERT_EQ(everybody.size(), 1000u);
  for (std::size_t i = 0; i < 1000; ++i) EXPECT_EQ(everybody[i], i);
}

TEST(PoissonSampler, BatchesMayBeEmpty) {
  const auto sampler = make_poisson_sampler(Seed::fixed(1), 1000, 0.001);
  double empty = 0.0;
  constexpr double kTries = 5000.0;
  for (Step t = 1; t <= 5000; ++t) empty += draw(*sampler, t).empty() ? 1.0 : 0.0;
  const double p = std::pow(0.999, 1000.0);
  EXPECT_LT(std::abs(empty - kTries * p) / std::sqrt(kTries * p * (1.0 - p)), kLargestZ);
}

TEST(PoissonSampler, WorkGrowsWithTheBatchNotWithThePopulation) {
  // 2^40 coins a step would take an hour; gaps take the time of 1,100 members.
  const auto sampler = make_poisson_sampler(Seed::fixed(1), kMaxExamples, 1e-9);
  const double expected = static_cast<double>(kMaxExamples) * 1e-9;
  double total = 0.0;
  for (Step t = 1; t <= 100; ++t) {
    const auto examples = draw(*sampler, t);
    total += static_cast<double>(examples.size());
    EXPECT_LT(examples.back(), kMaxExamples);
    EXPECT_GT(examples.back(), kMaxExamples / 100 * 97);  // all of the population is reached
  }
  EXPECT_LT(std::abs(total - 100.0 * expected) / std::sqrt(100.0 * expected), kLargestZ);
}

TEST(PoissonSampler, GapsBeyondAnyIntegerEndTheBatch) {
  for (const double rate : {1e-25, 1e-300, std::numeric_limits<double>::denorm_min()}) {
    const auto sampler = make_poisson_sampler(Seed::fixed(1), kMaxExamples, rate);
    for (Step t = 1; t <= 100; ++t) EXPECT_TRUE(draw(*sampler, t).empty());
  }
}

TEST(PoissonSampler, RefusesWhatIsNoProbability) {
  const Seed seed = Seed::fixed(1);
  for (const double rate : {0.0, -0.1, 1.0000001, std::nan(""), HUGE_VAL}) {
    EXPECT_THROW(make_poisson_sampler(seed, 10, rate), UserError) << rate;
  }
  EXPECT_THROW(make_poisson_sampler(seed, 0, 0.5), UserError);
  EXPECT_THROW(make_poisson_sampler(seed, kMaxExamples + 1, 0.5), UserError);
}

TEST(PoissonSampler, SaysWhetherAccountantsCoverIt) {
  EXPECT_EQ(make_poisson_sampler(Seed::fixed(1), 10, 0.5)->sampling(), Sampling::poisson);
  EXPECT_EQ(make_shuffled_sampler(Seed::fixed(1), 10, 5)->sampling(), Sampling::shuffled);
}

}  // namespace
}  // namespace lazydp
