#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/data/samplers.h"
#include "statistics.h"

namespace lazydp {
namespace {

std::vector<ExampleId> draw(const Sampler& sampler, Step t) {
  Sample sample;
  sampler.draw(t, sample);
  return sample.examples;
}

// The batches of steps 1, 2, ... laid end to end.
std::vector<ExampleId> draw_line(const Sampler& sampler, std::size_t length) {
  std::vector<ExampleId> line;
  for (Step t = 1; line.size() < length; ++t) {
    const auto batch = draw(sampler, t);
    line.insert(line.end(), batch.begin(), batch.end());
  }
  return line;
}

bool holds_each_once(std::vector<ExampleId> examples) {
  std::ranges::sort(examples);
  for (std::size_t i = 0; i < examples.size(); ++i) {
    if (examples[i] != i) return false;
  }
  return true;
}

TEST(Permutation, IsABijectionOfEverySize) {
  for (std::uint64_t size = 1; size <= 300; ++size) {
    const Permutation shuffle(size, {1, 2, 3, 4, 5, 6, 7, size});
    std::vector<ExampleId> image;
    for (std::uint64_t i = 0; i < size; ++i) image.push_back(shuffle(i));
    EXPECT_TRUE(holds_each_once(image)) << size;
  }
}

TEST(ShuffledSampler, AnEpochHoldsEveryExampleOnce) {
  constexpr std::uint64_t kPopulation = 1000;
  for (const std::uint64_t batch : {1, 77, 100, 999, 1000}) {
    const auto sampler = make_shuffled_sampler(Seed::fixed(3), kPopulation, batch);
    const auto line = draw_line(*sampler, 3 * kPopulation);
    std::vector<std::vector<ExampleId>> epochs;
    for (auto begin = line.begin(); epochs.size() < 3; begin += kPopulation) {
      epochs.emplace_back(begin, begin + kPopulation);
      EXPECT_TRUE(holds_each_once(epochs.back())) << batch;
    }
    EXPECT_NE(epochs[0], epochs[1]);
    EXPECT_NE(epochs[1], epochs[2]);
  }
}

TEST(ShuffledSampler, EveryBatchIsFullAcrossTheEndOfAnEpoch) {
  const auto sampler = make_shuffled_sampler(Seed::fixed(3), 10, 4);
  for (Step t = 1; t <= 20; ++t) EXPECT_EQ(draw(*sampler, t).size(), 4u);
}

TEST(ShuffledSampler, AStepIsAPureFunctionOfSeedAndStep) {
  const auto sampler = make_shuffled_sampler(Seed::fixed(3), 1000, 30);
  const auto second = draw(*sampler, 2);
  const auto late = draw(*sampler, 4'000'000'000u);
  EXPECT_EQ(draw(*make_shuffled_sampler(Seed::fixed(3), 1000, 30), 4'000'000'000u), late);
  EXPECT_EQ(draw(*sampler, 2), second);
  EXPECT_NE(draw(*sampler, 3), second);
  EXPECT_NE(draw(*make_shuffled_sampler(Seed::fixed(4), 1000, 30), 2), second);
}

// Chi-square at a false-alarm rate of 1e-6: over many epochs, every example is equally often first,
// and every ordered pair equally often leads.
TEST(ShuffledSampler, NoOrderIsFavoured) {
  constexpr std::size_t kPopulation = 11;
  constexpr Step kEpochs = 40'000;
  const auto sampler = make_shuffled_sampler(Seed::fixed(3), kPopulation, kPopulation);
  std::vector<double> first(kPopulation, 0.0);
  std::vector<double> pairs;
  std::vector<double> pair_counts(kPopulation * kPopulation, 0.0);
  for (Step t = 1; t <= kEpochs; ++t) {
    const auto epoch = draw(*sampler, t);
    first[epoch[0]] += 1.0;
    pair_counts[epoch[0] * kPopulation + epoch[1]] += 1.0;
  }
  for (std::size_t i = 0; i < pair_counts.size(); ++i) {
    if (i % (kPopulation + 1) != 0) pairs.push_back(pair_counts[i]);  // not with itself
  }
  const auto evenly = [](std::size_t cells) {
    return std::vector<double>(cells, double{kEpochs} / static_cast<double>(cells));
  };
  EXPECT_LT(chi_square_excess(first, evenly(first.size())), 1.0);
  EXPECT_LT(chi_square_excess(pairs, evenly(pairs.size())), 1.0);
}

TEST(ShuffledSampler, NeedsNoMemoryForThePopulation) {
  const auto sampler = make_shuffled_sampler(Seed::fixed(3), kMaxExamples, 1000);
  for (const ExampleId example : draw(*sampler, 9)) EXPECT_LT(example, kMaxExamples);
}

TEST(ShuffledSampler, RefusesBatchesItCannotFill) {
  const Seed seed = Seed::fixed(3);
  EXPECT_THROW(make_shuffled_sampler(seed, 10, 0), UserError);
  EXPECT_THROW(make_shuffled_sampler(seed, 10, 11), UserError);
  EXPECT_THROW(make_shuffled_sampler(seed, 0, 1), UserError);
  EXPECT_THROW(make_shuffled_sampler(seed, kMaxExamples + 1, 1), UserError);
  EXPECT_THROW(make_shuffled_sampler(seed, kMaxExamples, (std::uint64_t{1} << 31) + 1), UserError);
}

}  // namespace
}  // namespace lazydp
