// Merged rows, of examples and of units, are the gradients that are formed in full.

#include "lazydp/clip/merged_rows.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "lazydp/base/parallel.h"
#include "tests/clip/made_up_calls.h"

namespace lazydp {
namespace {

constexpr std::size_t kExamples = 150;

std::vector<std::size_t> every_example(std::size_t examples) {
  std::vector<std::size_t> starts(examples + 1);
  std::iota(starts.begin(), starts.end(), std::size_t{0});
  return starts;
}

// Groups of one to nine examples, and one of a third of them.
std::vector<std::size_t> ragged(std::size_t examples, std::mt19937& rng) {
  std::vector<std::size_t> starts = {0, examples / 3};
  while (starts.back() < examples) {
    starts.push_back(std::min(examples, starts.back() + 1 + rng() % 9));
  }
  return starts;
}

// Returns what a caller who applies `once` and `merged` gives the rows of group g.
GradientByRow applied(const std::vector<MadeUpCall>& calls, const RowGradients& rows,
                      const std::vector<std::size_t>& starts, std::size_t g) {
  GradientByRow sum;
  const auto add = [&sum](RowId row, double a, std::span<const float> d) {
    auto& to = sum.try_emplace(row, kDim, 0.0).first->second;
    for (std::size_t j = 0; j < kDim; ++j) to[j] += a * static_cast<double>(d[j]);
  };
  for (std::size_t c = 0; c < calls.size(); ++c) {
    const Bags& once = rows.once[c];
    const std::size_t per_example = calls[c].bags_per_example;
    for (std::size_t b = starts[g] * per_example; b < starts[g + 1] * per_example; ++b) {
      for (std::size_t k = once.offsets[b]; k < once.offsets[b + 1]; ++k) {
        add(once.ids[k], once.weight(k), calls[c].gradients.row(b));
      }
    }
  }
  for (std::size_t r = rows.first[g]; r < rows.first[g + 1]; ++r) {
    add(rows.merged.ids[r], 1.0, rows.values.row(r));
  }
  return sum;
}

struct Case {
  std::vector<std::size_t> bags_per_example;  // of each call
  Pooling mode;
  bool weighted;
  RowId rows;
  bool units;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::vector<std::size_t>& shape :
       std::vector<std::vector<std::size_t>>{{1}, {3}, {1, 1}, {2, 1, 4}}) {
    for (const Pooling mode : {Pooling::sum, Pooling::mean}) {
      for (const bool weighted : {false, true}) {
        for (const RowId rows : {RowId{4}, RowId{100}, RowId{1'000'000}}) {
          for (const bool units : {false, true})
            all.push_back({shape, mode, weighted, rows, units});
        }
      }
    }
  }
  return all;
}

TEST(MergedRows, AreGradientsFormedInFull) {
  std::mt19937 rng(3);
  for (const Case& one : cases()) {
    std::vector<MadeUpCall> calls;
    for (const std::size_t per : one.bags_per_example) {
      calls.push_back(made_up_call(kExamples, per, one.mode, one.weighted, rng, one.rows));
    }
    const auto starts = one.units ? ragged(kExamples, rng) : every_example(kExamples);
    std::vector<double> squared(starts.size() - 1, 1.0);
    const RowGradients rows = merge_rows(views_of(calls), starts, squared);
    ASSERT_EQ(rows.first.size(), starts.size());
    ASSERT_EQ(rows.first.back(), rows.merged.size());
    for (std::size_t g = 0; g + 1 < starts.size(); ++g) {
      const GradientByRow expected = gradient_by_definition(calls, starts[g], starts[g + 1]);
      const double square = squared_length(expected);
      EXPECT_NEAR(squared[g], 1.0 + square, 1e-6 * (1.0 + square)) << "group " << g;
      GradientByRow ours = applied(calls, rows, starts, g);
      EXPECT_NEAR(squared[g], 1.0 + squared_length(ours), 1e-6 * (1.0 + square)) << "group " << g;
      ASSERT_EQ(ours.size(), expected.size());
      for (const auto& [row, values] : expected) {
        for (std::size_t j = 0; j < kDim; ++j) EXPECT_NEAR(ours[row][j], values[j], 1e-5);
      }
    }
  }
}

// A row that occurs several times in a group is in `merged` once, and in no bag of the group.
TEST(MergedRows, NameEachRowOfAGroupOnce) {
  std::mt19937 rng(4);
  std::vector<MadeUpCall> calls;
  calls.push_back(made_up_call(kExamples, 3, Pooling::sum, true, rng, 60));
  calls.push_back(made_up_call(kExamples, 1, Pooling::mean, false, rng, 60));
  const auto starts = ragged(kExamples, rng);
  std::vector<double> squared(starts.size() - 1);
  const RowGradients rows = merge_rows(views_of(calls), starts, squared);
  EXPECT_GT(rows.merged.size(), 0u);
  for (std::size_t g = 0; g + 1 < starts.size(); ++g) {
    std::multiset<RowId> seen;
    for (std::size_t c = 0; c < calls.size(); ++c) {
      const std::size_t per = calls[c].bags_per_example;
      const Bags& once = rows.once[c];
      seen.insert(
          once.ids.begin() + static_cast<std::ptrdiff_t>(once.offsets[starts[g] * per]),
          once.ids.begin() + static_cast<std::ptrdiff_t>(once.offsets[starts[g + 1] * per]));
    }
    for (std::size_t r = rows.first[g]; r < rows.first[g + 1]; ++r) seen.insert(rows.merged.ids[r]);
    for (const RowId row : seen) EXPECT_EQ(seen.count(row), 1u);
  }
}

// Two towers whose gradients nearly cancel: the remainder is 1e-6 of the terms.
TEST(MergedRows, KeepWhatIsLeftWhenTermsCancel) {
  for (const bool units : {false, true}) {  // two calls of an example, or two examples of a unit
    MadeUpCall up;
    MadeUpCall down;
    for (MadeUpCall* call : {&up, &down}) {
      const std::size_t examples = units ? 2 : 1;
      call->gradients.reshape(examples, kDim);
      for (std::size_t i = 0; i < examples; ++i) {
        call->bags.ids.push_back(2);
        call->bags.offsets.push_back(i + 1);
      }
    }
    const float big = 1e6f;
    for (std::size_t j = 0; j < kDim; ++j) {
      for (std::size_t i = 0; i < up.gradients.rows(); ++i) {
        up.gradients.row(i)[j] = big + 1.0f;
        down.gradients.row(i)[j] = -big;
      }
    }
    std::vector<TableCall> calls = {up.view(), down.view()};
    if (!units) calls.insert(calls.end(), calls.begin(), calls.begin() + 2);
    std::vector<double> squared(1);
    const std::vector<std::size_t> starts = {0, units ? 2u : 1u};
    const RowGradients rows = merge_rows(calls, starts, squared);
    ASSERT_EQ(rows.merged.size(), 1u);
    for (const float x : rows.values.row(0)) EXPECT_FLOAT_EQ(x, 2.0f);
    EXPECT_DOUBLE_EQ(squared[0], 4.0 * kDim);
    for (const Bags& once : rows.once) EXPECT_TRUE(once.ids.empty());
  }
}

// Squares of very many rows are added up in double precision: in single precision this sum would be
// some thousandths too small, and the group would be clipped too little.
TEST(MergedRows, OfAVeryLargeGroupLoseNothing) {
  constexpr std::size_t kMany = 300'000;
  MadeUpCall call;
  call.gradients.reshape(kMany, kDim);
  for (std::size_t i = 0; i < kMany; ++i) {
    call.bags.ids.push_back(static_cast<RowId>(i));
    call.bags.offsets.push_back(i + 1);
    for (std::size_t j = 0; j < kDim; ++j) call.gradients.row(i)[j] = 1.1f;
  }
  std::vector<double> squared(1);
  const std::vector<TableCall> calls = {call.view()};
  merge_rows(calls, std::vector<std::size_t>{0, kMany}, squared);
  const double expected = kMany * kDim * 1.1 * 1.1;
  EXPECT_NEAR(squared[0], expected, 1e-6 * expected);
}

TEST(MergedRows, AreTheSameForAnyNumberOfThreads) {
  std::mt19937 rng(5);
  std::vector<MadeUpCall> calls;
  calls.push_back(made_up_call(2000, 2, Pooling::mean, true, rng, 50));
  const auto starts = ragged(2000, rng);
  std::vector<RowGradients> runs;
  const int before = thread_count();
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    std::vector<double> squared(starts.size() - 1);
    runs.push_back(merge_rows(views_of(calls), starts, squared));
  }
  set_thread_count(before);
  for (const RowGradients& run : runs) {
    EXPECT_EQ(run.merged.ids, runs[0].merged.ids);
    EXPECT_EQ(run.once[0].ids, runs[0].once[0].ids);
    const std::size_t count = run.values.rows() * kDim;
    EXPECT_TRUE(std::equal(run.values.data(), run.values.data() + count, runs[0].values.data()));
  }
}

}  // namespace
}  // namespace lazydp
