#include "lazydp/model/interaction.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "lazydp/kernels/vector.h"
#include "tests/model/fill.h"

namespace lazydp {
namespace {

// Calls `body` once for every instruction set that this CPU has and Highway was compiled for.
template <class Body>
void on_every_instruction_set(Body&& body) {
  const auto targets = hwy::SupportedAndGeneratedTargets();
  for (const auto target : targets) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
}

struct Example {
  Example(std::size_t n, std::size_t d)
      : count(n), dim(d), vectors(n * d), gradients(n * (n - 1) / 2 + 1) {
    testing::Numbers numbers(n * 1000 + d);
    numbers.fill(vectors);
    numbers.fill(gradients);
  }
  double dot(std::size_t i, std::size_t j) const {
    double sum = 0.0;
    for (std::size_t k = 0; k < dim; ++k) {
      sum += static_cast<double>(vectors[i * dim + k]) * vectors[j * dim + k];
    }
    return sum;
  }
  std::size_t count, dim;
  std::vector<float> vectors, gradients;  // one gradient more than pairs: never empty
};

std::vector<Example> examples() {
  std::vector<Example> all;
  for (const std::size_t count : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 27, 41, 70}) {
    for (const std::size_t dim : {1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 64, 128, 130}) {
      all.emplace_back(count, dim);
    }
  }
  return all;
}

constexpr float kUntouched = 54321.0f;

TEST(PairDots, AreTheDotProductsOfAllPairsInOrder) {
  on_every_instruction_set([] {
    for (const Example& e : examples()) {
      const std::size_t pairs = e.count * (e.count - 1) / 2;
      std::vector<float> dots(pairs + 1, kUntouched);
      pair_dots(e.vectors.data(), e.count, e.dim, dots.data());
      std::size_t p = 0;
      for (std::size_t i = 0; i < e.count; ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          ASSERT_NEAR(dots[p++], e.dot(i, j), 2e-5)
              << e.count << " vectors of " << e.dim << ", pair " << i << "," << j;
        }
      }
      ASSERT_EQ(dots[pairs], kUntouched);
    }
  });
}

TEST(PairDots, BackwardIsTheirDerivative) {
  on_every_instruction_set([] {
    for (const Example& e : examples()) {
      std::vector<double> expected(e.count * e.dim, 0.0);
      std::size_t p = 0;
      for (std::size_t i = 0; i < e.count; ++i) {
        for (std::size_t j = 0; j < i; ++j, ++p) {
          for (std::size_t k = 0; k < e.dim; ++k) {
            expected[i * e.dim + k] +=
                static_cast<double>(e.gradients[p]) * e.vectors[j * e.dim + k];
            expected[j * e.dim + k] +=
                static_cast<double>(e.gradients[p]) * e.vectors[i * e.dim + k];
          }
        }
      }
      std::vector<float> out(e.count * e.dim + 1, kUntouched);
      pair_dots_backward(e.vectors.data(), e.count, e.dim, e.gradients.data(), out.data());
      for (std::size_t k = 0; k < expected.size(); ++k) {
        ASSERT_NEAR(out[k], expected[k], 2e-5) << e.count << " vectors of " << e.dim << " at " << k;
      }
      ASSERT_EQ(out.back(), kUntouched);
    }
  });
}

// `copied`: how many floats of an example the output repeats before its dot products.
void expect_passed_on(std::size_t copied) {
  constexpr std::size_t kDim = 5;
  constexpr std::size_t kVectors = 4;
  const std::size_t width = copied + 6;
  Matrix features(3, kVectors * kDim);
  Matrix output(3, width);
  Matrix gradients(3, width);
  Matrix back(3, kVectors * kDim);
  testing::Numbers numbers(1);
  for (std::size_t i = 0; i < 3; ++i) numbers.fill(features.row(i));
  interact(features.view(), kDim, output.view());
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t k = 0; k < copied; ++k) {
      EXPECT_EQ(output.row(i)[k], features.row(i)[k]);
      gradients.row(i)[k] = static_cast<float>(10 * i + k);  // the dots' gradients stay 0
    }
    const auto dot = static_cast<float>(std::inner_product(features.row(i).begin(),
                                                           features.row(i).begin() + kDim,
                                                           features.row(i).begin() + kDim, 0.0));
    EXPECT_NEAR(output.row(i)[copied], dot, 1e-5);
  }
  back.fill(kUntouched);
  interact_backward(features.view(), kDim, gradients.view(), back.view());
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t k = 0; k < kVectors * kDim; ++k) {
      EXPECT_EQ(back.row(i)[k], k < copied ? static_cast<float>(10 * i + k) : 0.0f);
    }
  }
}

TEST(Interaction, PassesTheBottomOutputOnAndAddsItsGradientBack) {
  expect_passed_on(5);
}

TEST(Interaction, PassesAllVectorsOnWhereTheOutputHasRoomForThem) {
  expect_passed_on(20);
}

TEST(Interaction, OfNoExamplesIsNothing) {
  Matrix features(0, 12);
  Matrix output(0, 3 + 6);
  interact(features.view(), 3, output.view());
  interact_backward(features.view(), 3, output.view(), features.view());
}

}  // namespace
}  // namespace lazydp
