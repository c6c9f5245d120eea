// Norms of table gradients agree with gradients that are formed in full.

#include "lazydp/clip/table_norms.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace lazydp {
namespace {

constexpr std::size_t kDim = 5;

struct Call {
  Bags bags;
  Matrix gradients;
  Pooling mode = Pooling::sum;
  std::size_t bags_per_example = 1;

  TableCall view() const { return {&bags, mode, gradients.view(), bags_per_example}; }
};

Call random_call(std::size_t examples, std::size_t per_example, Pooling mode, bool weighted,
                 std::mt19937& rng) {
  Call call;
  call.mode = mode;
  call.bags_per_example = per_example;
  for (std::size_t b = 0; b < examples * per_example; ++b) {
    const std::size_t length = rng() % 5;
    for (std::size_t k = 0; k < length; ++k) {
      call.bags.ids.push_back(static_cast<RowId>(rng() % 4));  // few rows: they repeat
      if (weighted) call.bags.weights.push_back(static_cast<float>(rng() % 7) - 3.0f);
    }
    call.bags.offsets.push_back(call.bags.ids.size());
  }
  call.gradients.reshape(call.bags.size(), kDim);
  for (std::size_t i = 0; i < call.bags.size() * kDim; ++i) {
    call.gradients.data()[i] = std::normal_distribution<float>()(rng);
  }
  return call;
}

double squared_by_definition(const std::vector<Call>& calls, std::size_t example) {
  std::map<RowId, std::vector<double>> rows;
  for (const Call& call : calls) {
    for (std::size_t b = example * call.bags_per_example; b < (example + 1) * call.bags_per_example;
         ++b) {
      for (std::size_t k = call.bags.offsets[b]; k < call.bags.offsets[b + 1]; ++k) {
        double a = call.bags.weight(k);
        if (call.mode == Pooling::mean) a /= static_cast<double>(call.bags.length(b));
        auto& row = rows.try_emplace(call.bags.ids[k], kDim, 0.0).first->second;
        for (std::size_t j = 0; j < kDim; ++j) row[j] += a * call.gradients.row(b)[j];
      }
    }
  }
  double sum = 0.0;
  for (const auto& [id, row] : rows) {
    for (const double x : row) sum += x * x;
  }
  return sum;
}

std::vector<TableCall> views_of(const std::vector<Call>& calls) {
  std::vector<TableCall> views;
  views.reserve(calls.size());
  for (const Call& call : calls) views.push_back(call.view());
  return views;
}

constexpr std::size_t kExamples = 150;

TEST(TableNorms, OfOneBagAreThoseOfGradientsFormedInFull) {
  std::mt19937 rng(3);
  for (const bool weighted : {false, true}) {
    for (const Pooling mode : {Pooling::sum, Pooling::mean}) {
      std::vector<Call> calls;
      calls.push_back(random_call(kExamples, 1, mode, weighted, rng));
      std::vector<float> squared(kExamples, 1.0f);
      add_squared_table_norms(calls[0].view(), squared);
      for (std::size_t i = 0; i < kExamples; ++i) {
        const double expected = 1.0 + squared_by_definition(calls, i);
        EXPECT_NEAR(squared[i], expected, 1e-5 * expected) << "example " << i;
      }
    }
  }
}

TEST(MergedRows, HaveTheNormsOfGradientsFormedInFull) {
  std::mt19937 rng(3);
  for (const bool weighted : {false, true}) {
    for (const Pooling mode : {Pooling::sum, Pooling::mean}) {
      const std::vector<std::vector<std::size_t>> shapes = {{1}, {3}, {1, 1}, {2, 1, 4}};
      for (const auto& shape : shapes) {
        std::vector<Call> calls;
        calls.reserve(shape.size());
        for (const std::size_t per : shape) {
          calls.push_back(random_call(kExamples, per, mode, weighted, rng));
        }
        const MergedRows merged = merge_rows(views_of(calls), kExamples);
        std::vector<float> squared(kExamples, 1.0f);
        add_squared_norms(merged, squared);
        for (std::size_t i = 0; i < kExamples; ++i) {
          const double expected = 1.0 + squared_by_definition(calls, i);
          EXPECT_NEAR(squared[i], expected, 1e-5 * expected) << "example " << i;
        }
      }
    }
  }
}

TEST(MergedRows, NameEachRowOfAnExampleOnce) {
  std::mt19937 rng(4);
  std::vector<Call> calls;
  calls.push_back(random_call(kExamples, 3, Pooling::sum, true, rng));
  const MergedRows merged = merge_rows(views_of(calls), kExamples);
  ASSERT_EQ(merged.first.size(), kExamples + 1);
  ASSERT_EQ(merged.first.back(), merged.bags.size());
  for (std::size_t i = 0; i < kExamples; ++i) {
    for (std::size_t r = merged.first[i] + 1; r < merged.first[i + 1]; ++r) {
      EXPECT_LT(merged.bags.ids[r - 1], merged.bags.ids[r]);
    }
  }
}

// Two towers whose gradients nearly cancel: the remainder is 1e-6 of the terms.
TEST(MergedRows, KeepWhatIsLeftWhenTermsCancel) {
  Call up;
  Call down;
  for (Call* call : {&up, &down}) {
    call->bags.ids = {2};
    call->bags.offsets = {0, 1};
    call->gradients.reshape(1, kDim);
  }
  for (std::size_t j = 0; j < kDim; ++j) {
    up.gradients.data()[j] = 1e6f + 1.0f;
    down.gradients.data()[j] = -1e6f;
  }
  up.bags.weights = {1.0f};
  const std::vector<TableCall> calls = {up.view(), down.view(), up.view(), down.view()};
  const MergedRows merged = merge_rows(calls, 1);
  ASSERT_EQ(merged.bags.size(), 1u);
  for (const float x : merged.values.row(0)) EXPECT_FLOAT_EQ(x, 2.0f);
}

}  // namespace
}  // namespace lazydp
