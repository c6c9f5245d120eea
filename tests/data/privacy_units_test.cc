// PrivacyUnits are sampled independently, and each contributes one example, drawn uniformly.

#include "lazydp/data/privacy_units.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

namespace lazydp {
namespace {

// Unit sizes 3, 1, 2 by key, and two examples without one.
const std::vector<std::uint64_t> kKeys = {7, 5, 7, 0, 9, 7, 9, 0};

TEST(PrivacyUnits, GatherExamplesByKey) {
  const PrivacyUnits units(kKeys);
  ASSERT_EQ(units.size(), 5u);
  EXPECT_EQ(units.largest(), 3u);
  std::set<std::vector<std::uint32_t>> groups;
  for (std::uint64_t u = 0; u < units.size(); ++u) {
    const auto members = units.members(u);
    groups.insert({members.begin(), members.end()});
  }
  EXPECT_EQ(groups, (std::set<std::vector<std::uint32_t>>{{0, 2, 5}, {1}, {4, 6}, {3}, {7}}));
}

TEST(UnitSampler, SendsAtMostOneExampleOfAUnit) {
  const PrivacyUnits units(kKeys);
  const auto sampler = make_unit_sampler(Seed::fixed(1), units, 0.9, "a user");
  std::vector<ExampleId> examples;
  for (Step t = 1; t <= 200; ++t) {
    sampler->draw(t, examples);
    std::multiset<std::uint64_t> keys;
    for (const ExampleId i : examples) {
      if (kKeys[i] != 0) keys.insert(kKeys[i]);
    }
    for (const std::uint64_t key : keys) EXPECT_EQ(keys.count(key), 1u);
    EXPECT_EQ(std::set<ExampleId>(examples.begin(), examples.end()).size(), examples.size());
  }
  EXPECT_TRUE(sampler->poisson());
  EXPECT_EQ(sampler->unit(), "a user");
}

// Each example of a unit of size m joins with probability q / m. Over 60,000 steps its count has a
// standard deviation below 130; a bound of 5 of them raises 1 false alarm in 200,000 seeds.
TEST(UnitSampler, DrawsUniformlyWithinAUnitAndAtTheRateOverUnits) {
  const PrivacyUnits units(kKeys);
  constexpr double kRate = 0.3;
  constexpr Step kSteps = 60'000;
  const auto sampler = make_unit_sampler(Seed::fixed(2), units, kRate, "a user");
  std::vector<double> counts(kKeys.size(), 0.0);
  std::vector<ExampleId> examples;
  double both = 0.0;  // the units of keys 5 and 9
  for (Step t = 1; t <= kSteps; ++t) {
    sampler->draw(t, examples);
    int seen = 0;
    for (const ExampleId i : examples) {
      counts[i] += 1.0;
      seen += kKeys[i] == 5 || kKeys[i] == 9 ? 1 : 0;
    }
    both += seen == 2 ? 1.0 : 0.0;
  }
  const std::map<std::uint64_t, double> sizes = {{7, 3.0}, {5, 1.0}, {9, 2.0}, {0, 1.0}};
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    const double p = kRate / sizes.at(kKeys[i]);
    EXPECT_NEAR(counts[i], kSteps * p, 5.0 * std::sqrt(kSteps * p * (1.0 - p))) << "example " << i;
  }
  const double joint = kRate * kRate;
  EXPECT_NEAR(both, kSteps * joint, 5.0 * std::sqrt(kSteps * joint * (1.0 - joint)));
}

TEST(UnitSampler, IsAPureFunctionOfSeedAndStep) {
  const PrivacyUnits units(kKeys);
  const auto once = make_unit_sampler(Seed::fixed(3), units, 0.5, "a user");
  const auto again = make_unit_sampler(Seed::fixed(3), units, 0.5, "a user");
  std::vector<ExampleId> a;
  std::vector<ExampleId> b;
  for (const Step t : {Step{5}, Step{1}, Step{5}, Step{3}}) {
    once->draw(t, a);
    again->draw(t, b);
    EXPECT_EQ(a, b);
  }
}

}  // namespace
}  // namespace lazydp
