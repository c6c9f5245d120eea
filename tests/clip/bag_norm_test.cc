// Norms of table gradients agree with gradients that are formed in full, row by row.

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "lazydp/clip/table_norms.h"
#include "lazydp/kernels/vector.h"

namespace lazydp {
namespace {

constexpr std::size_t kDim = 7;

// Forms the gradient as a map from row to vector: the plain definition.
double formed_squared_norm(const Bags& bags, Pooling mode, std::span<const float> gradient,
                           std::size_t example) {
  std::map<RowId, std::vector<double>> rows;
  for (std::size_t k = bags.offsets[example]; k < bags.offsets[example + 1]; ++k) {
    double a = bags.weights.empty() ? 1.0 : bags.weights[k];
    if (mode == Pooling::mean) a /= static_cast<double>(bags.length(example));
    auto& row = rows.try_emplace(bags.ids[k], gradient.size(), 0.0).first->second;
    for (std::size_t j = 0; j < gradient.size(); ++j) row[j] += a * gradient[j];
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

TEST_P(BagNorm, EqualsThatOfTheFormedGradient) {
  const auto [mode, weighted, longest] = GetParam();
  const MadeUp m = make(200, longest, weighted, 1);
  BagCoefficients coefficients;
  for (std::size_t i = 0; i < 200; ++i) {
    const double expected = formed_squared_norm(m.bags, mode, m.gradients.row(i), i);
    EXPECT_NEAR(coefficients.squared(m.bags, mode, i) * squared_norm(m.gradients.row(i)), expected,
                1e-5 * (1e-1 + expected));
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
  BagCoefficients coefficients;
  EXPECT_FLOAT_EQ(coefficients.squared(bags, Pooling::sum, 0), 9.0f + 1.0f);
  EXPECT_FLOAT_EQ(coefficients.squared(bags, Pooling::mean, 0), 10.0f / 16.0f);
}

TEST(BagNorm, WeightsThatCancelLeaveTheOthers) {
  Bags bags;
  bags.ids = {4, 8, 4};
  bags.weights = {1e9f, 1.0f, -1e9f};
  bags.offsets = {0, 3};
  EXPECT_FLOAT_EQ(BagCoefficients().squared(bags, Pooling::sum, 0), 1.0f);
}

// Distinct ids that share a slot must not be taken for one, nor entries of earlier bags for this
// one's.
TEST(BagNorm, ManyIdsOfManyLengthsAreToldApart) {
  BagCoefficients coefficients;
  std::mt19937_64 rng(5);
  for (std::size_t length = 1; length < 3000; length = length * 2 + 1) {
    Bags bags;
    for (std::size_t k = 0; k < length; ++k) bags.ids.push_back(static_cast<RowId>(rng() >> 24));
    bags.offsets.push_back(length);
    EXPECT_EQ(coefficients.squared(bags, Pooling::sum, 0), static_cast<float>(length));
    EXPECT_EQ(coefficients.squared(bags, Pooling::sum, 0), static_cast<float>(length));
  }
}

}  // namespace
}  // namespace lazydp
