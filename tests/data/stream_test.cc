// Batches in the order of the data: one example more or less changes its own step and no other.

#include "lazydp/data/stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tests/data/file_fixture.h"
#include "tests/support/temporary_folder.h"

namespace lazydp {
namespace {

using Examples = std::vector<ExampleId>;

Examples step_of(const Sampler& sampler, Step t) {
  Sample sample;
  sampler.draw(t, sample);
  return sample.examples;
}

TEST(Stream, StepsTakeTheNextExamplesAndEpochsRepeatThem) {
  const auto sampler = make_stream_sampler(Windows(10, 4));
  EXPECT_EQ(sampler->sampling(), Sampling::stream);
  EXPECT_EQ(step_of(*sampler, 3), (Examples{8, 9})) << "the last window is short";
  EXPECT_EQ(step_of(*sampler, 1), (Examples{0, 1, 2, 3})) << "in any order of calls";
  EXPECT_EQ(step_of(*sampler, 5), (Examples{4, 5, 6, 7}));
  EXPECT_EQ(step_of(*sampler, 3'000'000), (Examples{8, 9}));
}

TEST(Stream, WindowsKnowTheirExamples) {
  const Windows windows(1000, 7);
  EXPECT_EQ(windows.count(), 143u);
  for (ExampleId i = 0; i < 1000; ++i) EXPECT_EQ(windows.window_of(i), i / 7);
}

// What each step of an epoch reads, by the numbers that examples have in the file.
std::vector<Examples> in_file(const Part& part, std::uint64_t places_a_step) {
  const Windows windows(part, places_a_step);
  const auto sampler = make_stream_sampler(windows);
  std::vector<Examples> steps;
  for (Step t = 1; t <= windows.count(); ++t) {
    Examples& step = steps.emplace_back();
    for (const ExampleId i : step_of(*sampler, t)) step.push_back(part.in_file(i));
  }
  return steps;
}

// Whatever is missing leaves a hole: were it refilled, everyone after it would move.
TEST(Stream, AnExampleThatIsMissingMovesNoOther) {
  const TemporaryFolder folder;
  constexpr std::uint64_t kExamples = 1000;
  constexpr std::uint64_t kPlaces = 30;
  write_plain_file((folder / "a").string(), kExamples, false);
  const auto file = std::make_shared<const DataFile>((folder / "a").string());
  const Split held_out = split_by_position(file, {.validation = 0.0, .test = 0.3});
  std::vector<std::uint32_t> some;
  for (ExampleId i = 0; i < held_out.train->size(); ++i) {
    some.push_back(static_cast<std::uint32_t>(held_out.train->in_file(i)));
  }
  const std::vector<Examples> with = in_file(*held_out.train, kPlaces);
  EXPECT_EQ(with.size(), (kExamples + kPlaces - 1) / kPlaces);
  EXPECT_EQ(with, in_file(Part(file, some), kPlaces)) << "however the part was chosen";
  for (std::size_t w = 0; w < with.size(); ++w) {
    for (const ExampleId i : with[w]) EXPECT_EQ(i / kPlaces, w);
  }
  for (const std::size_t missing : {std::size_t{0}, some.size() / 2, some.size() - 1}) {
    std::vector<std::uint32_t> rest = some;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(missing));
    const std::vector<Examples> without = in_file(Part(file, rest), kPlaces);
    ASSERT_EQ(without.size(), with.size());
    for (std::size_t w = 0; w < with.size(); ++w) {
      Examples expected = with[w];
      std::erase(expected, some[missing]);
      EXPECT_EQ(without[w], expected) << "step " << w + 1;
    }
  }
}

// The examples of each unit in each step: [step][unit].
using Sent = std::vector<std::map<std::uint64_t, std::set<ExampleId>>>;

Sent sent_by_units(const Sampler& sampler, const std::vector<std::uint64_t>& keys, Step steps) {
  Sent sent(steps + 1);
  Sample sample;
  for (Step t = 1; t <= steps; ++t) {
    sampler.draw(t, sample);
    EXPECT_EQ(sample.unit_starts.back(), sample.examples.size());
    for (std::size_t u = 0; u + 1 < sample.unit_starts.size(); ++u) {
      const std::span<const ExampleId> of_unit =
          std::span(sample.examples)
              .subspan(sample.unit_starts[u], sample.unit_starts[u + 1] - sample.unit_starts[u]);
      EXPECT_FALSE(of_unit.empty());
      auto& there = sent[t][keys[of_unit[0]]];
      const bool alone = keys[of_unit[0]] == 0;  // an example without a key is its own unit
      EXPECT_TRUE(alone || there.empty()) << "a unit is one unit in a step";
      for (const ExampleId i : of_unit) {
        EXPECT_EQ(keys[i], keys[of_unit[0]]) << "of one unit";
        there.insert(i);
      }
    }
  }
  return sent;
}

TEST(UnitStream, UnitsTakePartAsOftenAsTheyMayAndNoOftener) {
  std::mt19937 rng(4);
  for (int trial = 0; trial < 60; ++trial) {
    const std::size_t examples = 40 + rng() % 200;
    std::vector<std::uint64_t> keys(examples);
    for (auto& key : keys) key = 1 + rng() % 12;
    const PrivacyUnits units(keys);
    const Windows windows(examples, 1 + rng() % 20);
    const UnitsInStream rules{.participations = 1 + rng() % 6,
                              .gap = 1 + rng() % 9,
                              .most = rng() % 2 == 0 ? kEveryExampleOfAUnit : 2,
                              .steps = static_cast<Step>(3 * windows.count())};
    const auto sampler = make_unit_stream_sampler(Seed::fixed(1), windows, units, "a user", rules);
    EXPECT_EQ(sampler->unit(), "a user");
    EXPECT_EQ(sampler->examples_per_unit(), rules.most);
    const Sent sent = sent_by_units(*sampler, keys, rules.steps);
    for (std::uint64_t key = 1; key <= 12; ++key) {
      std::uint64_t times = 0;
      Step last = 0;
      for (Step t = 1; t <= rules.steps; ++t) {
        std::set<ExampleId> has;
        const std::uint64_t window = (t - 1) % windows.count();
        for (ExampleId i = windows.first_of(window); i < windows.first_of(window + 1); ++i) {
          if (keys[i] == key) has.insert(i);
        }
        const bool may =
            !has.empty() && times < rules.participations && (times == 0 || t - last >= rules.gap);
        const auto found = sent[t].find(key);
        ASSERT_EQ(found != sent[t].end(), may) << "key " << key << ", step " << t;
        if (!may) continue;
        ++times;
        last = t;
        if (rules.most == kEveryExampleOfAUnit) {
          EXPECT_EQ(found->second, has);
        } else {
          EXPECT_EQ(found->second.size(), std::min<std::size_t>(2, has.size()));
          EXPECT_TRUE(std::ranges::includes(has, found->second));
        }
      }
    }
  }
}

// Neighbours differ in one unit with all its examples, which leave holes: what every other unit
// sends stays the same.
TEST(UnitStream, AUnitThatIsMissingMovesNoOther) {
  std::vector<std::uint64_t> keys;
  for (std::size_t i = 0; i < 300; ++i) keys.push_back(1 + i * i % 17);
  const Windows windows(keys.size(), 11);
  const UnitsInStream rules{.participations = 4, .gap = 3, .most = 50, .steps = 56};
  const PrivacyUnits units(keys);
  const Sent with = sent_by_units(
      *make_unit_stream_sampler(Seed::fixed(1), windows, units, "a user", rules), keys, 56);
  // Blank lines are examples of nobody else: here each is a unit of its own, and is left out below.
  std::vector<std::uint64_t> blank = keys;
  std::ranges::replace(blank, 5, 0);
  const PrivacyUnits others(blank);
  const Sent without = sent_by_units(
      *make_unit_stream_sampler(Seed::fixed(1), windows, others, "a user", rules), blank, 56);
  std::size_t compared = 0;
  for (Step t = 1; t <= 56; ++t) {
    for (const auto& [key, examples] : with[t]) {
      if (key == 5) continue;
      ASSERT_TRUE(without[t].contains(key)) << t;
      EXPECT_EQ(without[t].at(key), examples) << t;
      ++compared;
    }
  }
  EXPECT_GT(compared, 30u);
}

}  // namespace
}  // namespace lazydp
