// Every example is in one part; a key's examples are all in the same one.

#include "lazydp/data/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "lazydp/base/error.h"
#include "tests/data/file_fixture.h"
#include "tests/support/temporary_folder.h"

namespace lazydp {
namespace {

std::shared_ptr<const DataFile> plain_file(const TemporaryFolder& folder, std::uint64_t examples) {
  write_plain_file((folder / "a").string(), examples, false);
  return std::make_shared<const DataFile>((folder / "a").string());
}

std::vector<ExampleId> numbers(const Part& part) {
  std::vector<ExampleId> all;
  for (ExampleId i = 0; i < part.size(); ++i) all.push_back(part.in_file(i));
  return all;
}

enum class Side { train, validation, test };

// On which side each example of a file of this size is.
std::vector<Side> sides(const Split& split, std::uint64_t size) {
  std::vector<Side> side(size);
  std::uint64_t members = 0;
  for (const auto& [part, which] : {std::pair(split.train.get(), Side::train),
                                    {split.validation.get(), Side::validation},
                                    {split.test.get(), Side::test}}) {
    if (part == nullptr) continue;
    const std::vector<ExampleId> all = numbers(*part);
    EXPECT_TRUE(std::ranges::is_sorted(all));
    for (const ExampleId i : all) side.at(i) = which;
    members += part->size();
  }
  EXPECT_EQ(members, size) << "each example is in one part";
  return side;
}

// Neighbours differ in one example, before the split and after: a line more at the end moves no
// other one, and neither does what the lines hold (a part is known without reading any), so that a
// line that is blanked leaves all others where they were.
TEST(Split, ByPositionIsNoMatterOfTheSize) {
  const TemporaryFolder folder;
  for (const auto& [validation, test] :
       {std::pair(0.0, 0.1), {0.05, 0.1}, {0.0, 0.5}, {0.3, 0.3}, {0.0, 0.001}, {0.0, 0.97}}) {
    const SplitShares shares{.validation = validation, .test = test};
    constexpr std::uint64_t kMost = 2000;
    const std::vector<Side> whole =
        sides(split_by_position(plain_file(folder, kMost), shares), kMost);
    for (std::uint64_t size = 1; size < kMost; size += size < 300 ? 1 : 97) {
      const std::vector<Side> expected(whole.begin(), whole.begin() + static_cast<long>(size));
      if (std::ranges::count(expected, Side::train) == 0) continue;  // refused
      EXPECT_EQ(sides(split_by_position(plain_file(folder, size), shares), size), expected) << size;
    }
    for (ExampleId i = 0; i < kMost; ++i) {
      const double place = place_of_position(i);
      const Side side = place >= 1.0 - test                ? Side::test
                        : place >= 1.0 - test - validation ? Side::validation
                                                           : Side::train;
      EXPECT_EQ(whole[i], side) << "a function of position and shares";
    }
  }
}

// For each window of positions and each share allows five standard deviations: 600 windows, so that
// one test in 3,000 of a true hash would object. Neighbouring positions are as good as independent.
TEST(Split, ByPositionHoldsOutItsShareEverywhere) {
  constexpr std::uint64_t kWindow = 10'000;
  for (const double share : {0.001, 0.01, 0.1, 0.3, 0.5, 0.9}) {
    for (std::uint64_t first = 0; first < 100 * kWindow; first += kWindow) {
      double held_out = 0.0, runs = 0.0;
      bool before = false;
      for (ExampleId i = first; i < first + kWindow; ++i) {
        const bool here = place_of_position(i) >= 1.0 - share;
        held_out += here ? 1.0 : 0.0;
        runs += here && before ? 1.0 : 0.0;
        before = here;
      }
      const auto within = [&](double count, double p) {
        EXPECT_NEAR(count, p * kWindow, 5.0 * std::sqrt(p * kWindow) + 5.0) << share << first;
      };
      EXPECT_NEAR(held_out, share * kWindow,
                  5.0 * std::sqrt(share * (1.0 - share) * kWindow) + 1.0);
      within(runs, share * share);
    }
  }
}

TEST(Split, ByPositionReadsItsOwnExamples) {
  const TemporaryFolder folder;
  const Split split =
      split_by_position(plain_file(folder, 1000), {.validation = 0.05, .test = 0.1});
  for (const Part* part : {split.train.get(), split.validation.get(), split.test.get()}) {
    Batch batch;
    const ExampleId third = 2;
    part->read({&third, 1}, batch);
    EXPECT_EQ(batch.dense.row(0)[0], plain_example(part->in_file(third), false).dense[0]);
  }
}

// Pinned: a change here would let runs train on what they held out.
TEST(Split, ByPositionNeverChanges) {
  std::vector<ExampleId> held_out;
  for (ExampleId i = 0; held_out.size() < 5; ++i) {
    if (place_of_position(i) >= 0.9) held_out.push_back(i);
  }
  EXPECT_EQ(held_out, (std::vector<ExampleId>{8, 13, 37, 44, 51}));
}

TEST(Split, WithoutAShareThereIsNoPart) {
  const TemporaryFolder folder;
  const Split split = split_by_position(plain_file(folder, 10), {.validation = 0.0, .test = 0.0});
  EXPECT_EQ(split.train->size(), 10u);
  EXPECT_EQ(split.validation, nullptr);
  EXPECT_EQ(split.test, nullptr);
}

TEST(Split, LeavesSomethingToTrainOn) {
  const TemporaryFolder folder;
  EXPECT_THROW(split_by_position(plain_file(folder, 0), {}), UserError);
  EXPECT_THROW(split_by_position(plain_file(folder, 1), {.validation = 0.0, .test = 0.9}),
               UserError);
}

// 10,000 keys with four examples each: the share of a part has a standard deviation of 0.3 %.
TEST(Split, ByKeyKeepsTheExamplesOfAKeyTogether) {
  const TemporaryFolder folder;
  constexpr std::uint64_t kExamples = 40'000;
  const auto file = plain_file(folder, kExamples);
  const Split split = split_by_key(file, 0, {.validation = 0.1, .test = 0.2});
  std::map<std::uint64_t, std::set<const Part*>> parts_of_key;
  std::uint64_t total = 0;
  for (const Part* part : {split.train.get(), split.validation.get(), split.test.get()}) {
    for (const ExampleId i : numbers(*part)) parts_of_key[i / 4].insert(part);
    total += part->size();
  }
  EXPECT_EQ(total, kExamples);
  EXPECT_EQ(parts_of_key.size(), kExamples / 4);
  for (const auto& [key, parts] : parts_of_key) EXPECT_EQ(parts.size(), 1u) << key;
  EXPECT_NEAR(static_cast<double>(split.test->size()) / kExamples, 0.2, 0.02);
  EXPECT_NEAR(static_cast<double>(split.validation->size()) / kExamples, 0.1, 0.02);
}

// The same user is on the same side in every file.
TEST(Split, ByKeyDoesNotDependOnWhatElseTheFileHolds) {
  const TemporaryFolder folder;
  const Split large = split_by_key(plain_file(folder, 4000), 0, {});
  std::set<ExampleId> tested;
  for (const ExampleId i : numbers(*large.test)) tested.insert(i);
  const Split small = split_by_key(plain_file(folder, 400), 0, {});
  for (const ExampleId i : numbers(*small.test)) EXPECT_TRUE(tested.contains(i));
  for (const ExampleId i : numbers(*small.train)) EXPECT_FALSE(tested.contains(i));
}

}  // namespace
}  // namespace lazydp
