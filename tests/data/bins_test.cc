// Balls in bins: every example is in one step of an epoch, secret, uniform and independent.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/data/samplers.h"

namespace lazydp {
namespace {

// The bin of each example.
std::vector<std::uint64_t> bins_of(const Sampler& sampler, std::uint64_t population,
                                   std::uint64_t bins, std::uint64_t epoch = 0) {
  std::vector<std::uint64_t> bin_of(population, bins);
  Sample sample;
  for (std::uint64_t bin = 0; bin < bins; ++bin) {
    sampler.draw(static_cast<Step>(epoch * bins + bin + 1), sample);
    EXPECT_TRUE(std::ranges::is_sorted(sample.examples));
    EXPECT_TRUE(sample.unit_starts.empty());
    for (const ExampleId i : sample.examples) {
      EXPECT_EQ(bin_of[i], bins) << "an example in two bins";
      bin_of[i] = bin;
    }
  }
  EXPECT_EQ(std::ranges::count(bin_of, bins), 0) << "an example in no bin";
  return bin_of;
}

TEST(Bins, EveryExampleIsInTheSameStepOfEveryEpoch) {
  const auto sampler = make_bins_sampler(Seed::fixed(3), 1000, 7);
  EXPECT_EQ(sampler->sampling(), Sampling::balls_in_bins);
  const auto first = bins_of(*sampler, 1000, 7);
  EXPECT_EQ(bins_of(*sampler, 1000, 7, 1), first);
  EXPECT_EQ(bins_of(*sampler, 1000, 7, 50), first);
}

TEST(Bins, AreAFunctionOfTheKey) {
  const auto first = bins_of(*make_bins_sampler(Seed::fixed(3), 500, 5), 500, 5);
  EXPECT_EQ(bins_of(*make_bins_sampler(Seed::fixed(3), 500, 5), 500, 5), first);
  EXPECT_NE(bins_of(*make_bins_sampler(Seed::fixed(4), 500, 5), 500, 5), first);
  EXPECT_FALSE(make_bins_sampler(Seed::fixed(3), 500, 5)->secret());
  EXPECT_TRUE(make_bins_sampler(Seed::from_os(), 500, 5)->secret());
}

// Chi-square over bins, and over pairs of bins of neighbours: z scores above 5 come once in three
// million seeds.
TEST(Bins, AreUniformAndIndependent) {
  constexpr std::uint64_t kExamples = 200'000;
  constexpr std::uint64_t kBins = 20;
  const auto bin_of =
      bins_of(*make_bins_sampler(Seed::fixed(5), kExamples, kBins), kExamples, kBins);
  std::vector<double> single(kBins, 0.0);
  std::vector<double> pairs(kBins * kBins, 0.0);
  for (std::size_t i = 0; i < bin_of.size(); ++i) ++single[bin_of[i]];
  for (std::size_t i = 0; i + 1 < bin_of.size(); i += 2) {
    ++pairs[bin_of[i] * kBins + bin_of[i + 1]];
  }
  const auto z = [](const std::vector<double>& counts, double n) {
    const double expected = n / static_cast<double>(counts.size());
    const auto freedom = static_cast<double>(counts.size() - 1);
    double chi2 = 0.0;
    for (const double count : counts) chi2 += (count - expected) * (count - expected) / expected;
    return (chi2 - freedom) / std::sqrt(2.0 * freedom);
  };
  EXPECT_LT(std::abs(z(single, kExamples)), 5.0);
  EXPECT_LT(std::abs(z(pairs, kExamples / 2.0)), 5.0);
}

TEST(Bins, RefusesDataThatItCannotNumber) {
  EXPECT_THROW(make_bins_sampler(Seed::fixed(1), 0, 1), UserError);
  EXPECT_THROW(make_bins_sampler(Seed::fixed(1), std::uint64_t{1} << 32, 1), UserError);
}

}  // namespace
}  // namespace lazydp
