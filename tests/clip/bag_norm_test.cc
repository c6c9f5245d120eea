// Norms of table gradients against gradients that are formed in full, row by row.

#include "lazydp/clip/bag_norm.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace lazydp {
namespace {

constexpr std::size_t kDim = 7;

// Forms the gradient as a map from row to vector; the definition, nothing clever.
double formed_squared_norm(std::span<const Lookup> lookups, std::size_t example) {
  std::map<RowId, std::vector<double>> rows;
  for (const Lookup& lookup : lookups) {
    const Bags& bags = *lookup.bags;
    for (std::size_t k = bags.offsets[example]; k < bags.offsets[example + 1]; ++k) {
      double a = bags.weights.empty() ? 1.0 : bags.weights[k];
      if (lookup.mode == Pooling::mean) a /= static_cast<double>(bags.length(example));
      auto& row = rows.try_emplace(bags.ids[k], kDim, 0.0).first->second;
      for (std::size_t j = 0; j < kDim; ++j) row[j] += a * lookup.gradients.row(example)[j];
    }
  }
  double sum = 0.0;
  for (const auto& [id, row] : rows) {
    for (const double x : row) sum += x * x;
  }
  return sum;
}

struct MadeUp {
  Bags bags;
  Matrix gradients;
};

MadeUp make(std::size_t examples, std::size_t longest, bool weighted, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  MadeUp m;
  m.gradients.reshape(examples, kDim);
  for (std::size_t i = 0; i < examples; ++i) {
    for (auto k = rng() % (longest + 1); k > 0; --k) {
      m.bags.ids.push_back(static_cast<RowId>(rng() % 9));  // few rows: many repeats
      if (weighted) m.bags.weights.push_back(normal(rng));
    }
    m.bags.offsets.push_back(m.bags.ids.size());
    for (float& x : m.gradients.row(i)) x = normal(rng);
  }
  return m;
}

struct Case {
  Pooling mode;
  bool weighted;
  std::size_t longest;
};

class BagNorm : public ::testing::TestWithParam<Case> {};

TEST_P(BagNorm, OfOneLookUpEqualsThatOfTheFormedGradient) {
  const auto [mode, weighted, longest] = GetParam();
  const MadeUp m = make(200, longest, weighted, 1);
  std::vector<Occurrence> scratch;
  const Lookup lookup = {&m.bags, mode, m.gradients.view()};
  for (std::size_t i = 0; i < 200; ++i) {
    const double expected = formed_squared_norm({&lookup, 1}, i);
    EXPECT_NEAR(squared_table_norm({&lookup, 1}, i, scratch), expected, 1e-5 * (1e-3 + expected));
  }
}

TEST_P(BagNorm, OfATableLookedUpThriceEqualsThatOfTheFormedGradient) {
  const auto [mode, weighted, longest] = GetParam();
  const MadeUp a = make(200, longest, weighted, 1);
  const MadeUp b = make(200, longest, weighted, 2);
  const MadeUp c = make(200, 1, false, 3);
  std::vector<Occurrence> scratch;
  const std::vector<Lookup> lookups = {{&a.bags, mode, a.gradients.view()},
                                       {&b.bags, mode, b.gradients.view()},
                                       {&c.bags, Pooling::sum, c.gradients.view()}};
  for (std::size_t i = 0; i < 200; ++i) {
    const double expected = formed_squared_norm(lookups, i);
    EXPECT_NEAR(squared_table_norm(lookups, i, scratch), expected, 2e-5 * (1e-1 + expected));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Pooled, BagNorm,
    ::testing::Values(Case{Pooling::sum, false, 1}, Case{Pooling::sum, false, 5},
                      Case{Pooling::mean, false, 5}, Case{Pooling::sum, true, 5},
                      Case{Pooling::mean, true, 5}, Case{Pooling::sum, false, 100},
                      Case{Pooling::mean, true, 100}));

TEST(BagNorm, AnIdNamedThreeTimesCountsNine) {
  Bags bags;
  bags.ids = {4, 4, 4, 8};
  bags.offsets = {0, 4};
  std::vector<Occurrence> scratch;
  EXPECT_FLOAT_EQ(squared_coefficients(bags, Pooling::sum, 0, scratch), 9.0f + 1.0f);
  EXPECT_FLOAT_EQ(squared_coefficients(bags, Pooling::mean, 0, scratch), 10.0f / 16.0f);
}

}  // namespace
}  // namespace lazydp
