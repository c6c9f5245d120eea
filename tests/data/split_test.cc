// Every example is in one part; a key's examples are all in the same one.

#include "lazydp/data/split.h"

#include <gtest/gtest.h>

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

TEST(Split, ByPositionHoldsOutTheLastExamples) {
  const TemporaryFolder folder;
  const Split split =
      split_by_position(plain_file(folder, 1000), {.validation = 0.05, .test = 0.1});
  EXPECT_EQ(split.train->size(), 850u);
  EXPECT_EQ(split.validation->size(), 50u);
  EXPECT_EQ(split.test->size(), 100u);
  EXPECT_EQ(numbers(*split.validation).front(), 850u);
  EXPECT_EQ(numbers(*split.test).front(), 900u);
  Batch batch;
  const ExampleId third = 2;
  split.test->read({&third, 1}, batch);
  EXPECT_EQ(batch.dense.row(0)[0], plain_example(902, false).dense[0]);
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
