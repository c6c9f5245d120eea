// Norms of table gradients agree with gradients that are formed in full.

#include "lazydp/clip/table_norms.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/clip/made_up_calls.h"

namespace lazydp {
namespace {

TEST(TableNorms, OfOneBagAreThoseOfGradientsFormedInFull) {
  constexpr std::size_t kExamples = 150;
  std::mt19937 rng(3);
  for (const bool weighted : {false, true}) {
    for (const Pooling mode : {Pooling::sum, Pooling::mean}) {
      std::vector<MadeUpCall> calls;
      calls.push_back(made_up_call(kExamples, 1, mode, weighted, rng));
      std::vector<float> squared(kExamples, 1.0f);
      add_squared_table_norms(calls[0].view(), squared);
      for (std::size_t i = 0; i < kExamples; ++i) {
        const double expected = 1.0 + squared_length(gradient_by_definition(calls, i, i + 1));
        EXPECT_NEAR(squared[i], expected, 1e-5 * expected) << "example " << i;
      }
    }
  }
}

}  // namespace
}  // namespace lazydp
