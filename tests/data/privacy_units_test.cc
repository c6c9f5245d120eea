// PrivacyUnits are sampled independently, and each contributes some of its examples, drawn
// uniformly without replacement.

#include "lazydp/data/privacy_units.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
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
  Sample sample;
  for (Step t = 1; t <= 200; ++t) {
    sampler->draw(t, sample);
    EXPECT_TRUE(sample.unit_starts.empty()) << "every example is its own unit";
    const std::vector<ExampleId>& examples = sample.examples;
    std::multiset<std::uint64_t> keys;
    for (const ExampleId i : examples) {
      if (kKeys[i] != 0) keys.insert(kKeys[i]);
    }
    for (const std::uint64_t key : keys) EXPECT_EQ(keys.count(key), 1u);
    EXPECT_EQ(std::set<ExampleId>(examples.begin(), examples.end()).size(), examples.size());
  }
  EXPECT_EQ(sampler->sampling(), Sampling::poisson);
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
  Sample sample;
  double both = 0.0;  // the units of keys 5 and 9
  for (Step t = 1; t <= kSteps; ++t) {
    sampler->draw(t, sample);
    int seen = 0;
    for (const ExampleId i : sample.examples) {
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
  Sample a;
  Sample b;
  for (const Step t : {Step{5}, Step{1}, Step{5}, Step{3}}) {
    once->draw(t, a);
    again->draw(t, b);
    EXPECT_EQ(a.examples, b.examples);
  }
}

// Units of 2, 5, 9 and 40 examples, and one example without a key.
std::vector<std::uint64_t> uneven_keys() {
  std::vector<std::uint64_t> keys = {0};
  for (const auto& [key, size] :
       std::map<std::uint64_t, int>{{11, 2}, {12, 5}, {13, 9}, {14, 40}}) {
    keys.insert(keys.end(), static_cast<std::size_t>(size), key);
  }
  return keys;
}

TEST(UnitSampler, SendsAtMostKDistinctExamplesOfAUnitSideBySide) {
  const std::vector<std::uint64_t> keys = uneven_keys();
  const PrivacyUnits units(keys);
  for (const std::uint64_t most : {std::uint64_t{2}, std::uint64_t{5}, kEveryExampleOfAUnit}) {
    const auto sampler = make_unit_sampler(Seed::fixed(4), units, 0.7, "a user", most);
    EXPECT_EQ(sampler->examples_per_unit(), most);
    Sample sample;
    for (Step t = 1; t <= 300; ++t) {
      sampler->draw(t, sample);
      ASSERT_FALSE(sample.unit_starts.empty());
      ASSERT_EQ(sample.unit_starts.front(), 0u);
      ASSERT_EQ(sample.unit_starts.back(), sample.examples.size());
      std::set<std::uint64_t> seen;
      for (std::size_t u = 0; u + 1 < sample.unit_starts.size(); ++u) {
        const std::set<ExampleId> sent(
            sample.examples.begin() + static_cast<std::ptrdiff_t>(sample.unit_starts[u]),
            sample.examples.begin() + static_cast<std::ptrdiff_t>(sample.unit_starts[u + 1]));
        const std::uint64_t key = keys[*sent.begin()];
        for (const ExampleId i : sent) ASSERT_EQ(keys[i], key) << "one unit, one key";
        const auto has = static_cast<std::uint64_t>(key == 0 ? 1 : std::ranges::count(keys, key));
        EXPECT_EQ(sent.size(), std::min(most, has)) << "no example twice";
        EXPECT_EQ(sent.size(), sample.unit_starts[u + 1] - sample.unit_starts[u]);
        EXPECT_TRUE(seen.insert(key).second) << "a unit joins once";
      }
    }
  }
}

// Every subset of 2 of 5 examples has probability 1 / 10. Over 40,000 samples of the unit a count
// has a standard deviation of 60; a bound of 5 of them raises fewer than 1 false alarm in 100,000
// seeds.
TEST(UnitSampler, DrawsEverySubsetWithTheSameProbability) {
  const std::vector<std::uint64_t> keys(5, 3);
  const PrivacyUnits units(keys);
  constexpr Step kSteps = 40'000;
  const auto sampler = make_unit_sampler(Seed::fixed(5), units, 1.0, "a user", 2);
  std::map<std::vector<ExampleId>, double> counts;
  Sample sample;
  for (Step t = 1; t <= kSteps; ++t) {
    sampler->draw(t, sample);
    counts[sample.examples] += 1.0;
  }
  ASSERT_EQ(counts.size(), 10u);
  for (const auto& [subset, count] : counts) {
    EXPECT_NEAR(count, kSteps / 10.0, 5.0 * std::sqrt(kSteps * 0.1 * 0.9));
  }
}

TEST(UnitSampler, WhatAUnitSendsDependsOnItAndTheStepAlone) {
  const std::vector<std::uint64_t> keys = uneven_keys();
  const PrivacyUnits units(keys);
  const auto some = make_unit_sampler(Seed::fixed(6), units, 0.5, "a user", 3);
  const auto all = make_unit_sampler(Seed::fixed(6), units, 1.0, "a user", 3);
  const auto of_key = [&](const Sample& sample, std::uint64_t key) {
    std::vector<ExampleId> sent;
    std::ranges::copy_if(sample.examples, std::back_inserter(sent),
                         [&](ExampleId i) { return keys[i] == key; });
    return sent;
  };
  Sample a;
  Sample b;
  std::set<std::vector<ExampleId>> different;
  for (const Step t : {Step{9}, Step{2}, Step{9}, Step{30}, Step{31}}) {
    some->draw(t, a);
    all->draw(t, b);
    for (const std::uint64_t key : {11, 12, 13, 14}) {
      const auto sent = of_key(a, key);
      if (!sent.empty()) {
        EXPECT_EQ(sent, of_key(b, key)) << "whoever else joins";
      }
    }
    different.insert(of_key(b, 14));
  }
  EXPECT_EQ(different.size(), 4u) << "drawn anew in every step";
}

TEST(PartOfSample, NeverCutsAUnit) {
  const std::vector<std::uint64_t> keys = uneven_keys();
  const PrivacyUnits units(keys);
  const auto whole = make_unit_sampler(Seed::fixed(7), units, 0.8, "a user", 7);
  for (const int ranks : {1, 2, 3, 9}) {
    for (Step t = 1; t <= 40; ++t) {
      Sample all;
      whole->draw(t, all);
      std::vector<ExampleId> joined;
      std::vector<std::size_t> starts = {0};
      for (int p = 0; p < ranks; ++p) {
        Sample part;
        make_part_of_sample(*whole, p, ranks)->draw(t, part);
        ASSERT_FALSE(part.unit_starts.empty());
        EXPECT_EQ(part.unit_starts.back(), part.examples.size());
        for (std::size_t u = 1; u < part.unit_starts.size(); ++u) {
          starts.push_back(joined.size() + part.unit_starts[u]);
        }
        joined.insert(joined.end(), part.examples.begin(), part.examples.end());
      }
      EXPECT_EQ(joined, all.examples);
      EXPECT_EQ(starts, all.unit_starts);
    }
  }
}

}  // namespace
}  // namespace lazydp
