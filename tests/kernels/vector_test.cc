// Array arithmetic and row kernels agree with plain loops, at awkward sizes.

#include "lazydp/kernels/vector.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "lazydp/kernels/rows.h"

namespace lazydp {
namespace {

std::vector<float> random_floats(std::size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> out(n);
  for (float& x : out) x = normal(rng);
  return out;
}

TEST(Vector, AgreesWithPlainLoops) {
  for (const std::size_t n : {0u, 1u, 7u, 8u, 15u, 16u, 17u, 129u, 1000u}) {
    const auto a = random_floats(n, 1);
    auto b = random_floats(n, 2);
    double expected = 0.0;
    for (std::size_t i = 0; i < n; ++i) expected += double(a[i]) * b[i];
    EXPECT_NEAR(dot(a, b), expected, 1e-4 * (1.0 + n));
    auto y = b;
    add_scaled(0.5f, a, y);
    for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(y[i], b[i] + 0.5f * a[i], 1e-6f);
    scale(-2.0f, b);
    const auto b0 = random_floats(n, 2);
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(b[i], -2.0f * b0[i]);
  }
}

struct Case {
  std::size_t dim;
  bool mean;
  bool weighted;
};

class Rows : public ::testing::TestWithParam<Case> {
 protected:
  static constexpr std::size_t kRows = 50;
  std::vector<std::int64_t> ids_ = {3, 3, 7, 49, 0, 3, 12, 12, 12, 31, 8, 49, 1};
  std::vector<std::size_t> offsets_ = {0, 3, 3, 4, 9, 13};  // one bag is empty, some ids repeat
  std::vector<float> weights_ = random_floats(13, 5);

  BagList bags() const {
    return {ids_.data(), offsets_.data(), GetParam().weighted ? weights_.data() : nullptr,
            offsets_.size() - 1, GetParam().mean};
  }
  double coefficient(std::size_t bag, std::size_t k) const {
    const double length = static_cast<double>(offsets_[bag + 1] - offsets_[bag]);
    return (GetParam().weighted ? weights_[k] : 1.0) / (GetParam().mean ? length : 1.0);
  }
};

TEST_P(Rows, PoolIsTheWeightedSumOfTheBag) {
  const std::size_t dim = GetParam().dim;
  const auto table = random_floats(kRows * dim, 3);
  const std::size_t stride = dim + 3;
  std::vector<float> out(5 * stride, 99.0f);
  pool_rows(table.data(), dim, bags(), out.data(), stride);
  for (std::size_t b = 0; b < 5; ++b) {
    for (std::size_t j = 0; j < dim; ++j) {
      double expected = 0.0;
      for (std::size_t k = offsets_[b]; k < offsets_[b + 1]; ++k) {
        expected += coefficient(b, k) * table[static_cast<std::size_t>(ids_[k]) * dim + j];
      }
      EXPECT_NEAR(out[b * stride + j], expected, 1e-5);
    }
    EXPECT_EQ(out[b * stride + dim], 99.0f) << "wrote past the row";
  }
}

TEST_P(Rows, AddingIsTheAdjointWhateverTheNumberOfShares) {
  const std::size_t dim = GetParam().dim;
  const auto gradient = random_floats(5 * dim, 4);
  for (const std::size_t shares : {1u, 2u, 3u}) {
    auto table = random_floats(kRows * dim, 3);
    std::vector<double> expected(table.begin(), table.end());
    for (std::size_t b = 0; b < 5; ++b) {
      for (std::size_t k = offsets_[b]; k < offsets_[b + 1]; ++k) {
        for (std::size_t j = 0; j < dim; ++j) {
          expected[static_cast<std::size_t>(ids_[k]) * dim + j] +=
              -0.5 * coefficient(b, k) * gradient[b * dim + j];
        }
      }
    }
    std::uint64_t added = 0;
    for (std::size_t s = 0; s < shares; ++s) {
      added += add_to_rows(table.data(), dim, bags(), gradient.data(), dim, -0.5f, s, shares);
    }
    EXPECT_EQ(added, ids_.size());
    for (std::size_t i = 0; i < table.size(); ++i) EXPECT_NEAR(table[i], expected[i], 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Rows,
                         ::testing::Values(Case{1, false, false}, Case{16, false, false},
                                           Case{32, true, false}, Case{33, false, true},
                                           Case{128, true, true}, Case{200, false, true}));

}  // namespace
}  // namespace lazydp
