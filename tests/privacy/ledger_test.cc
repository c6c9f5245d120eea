#include "lazydp/privacy/ledger.h"

#include <gtest/gtest.h>

#include <limits>

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

TEST(Ledger, StartsEmpty) {
  const Ledger ledger;
  EXPECT_TRUE(ledger.events().empty());
  EXPECT_EQ(ledger.steps(), 0U);
}

TEST(Ledger, NeighboursThatDifferOnlyInStepsMerge) {
  Ledger ledger;
  ledger.record({0.1, 1.0, 3});
  ledger.record({0.1, 1.0, 4});
  ASSERT_EQ(ledger.events().size(), 1U);
  EXPECT_EQ(ledger.events()[0], (SampledGaussian{0.1, 1.0, 7}));
  EXPECT_EQ(ledger.steps(), 7U);
}

TEST(Ledger, KeepsTheOrderOfWhatHappened) {
  Ledger ledger;
  ledger.record({0.1, 1.0, 3});
  ledger.record({0.1, 2.0, 1});
  ledger.record({0.2, 2.0, 1});
  ledger.record({0.1, 1.0, 3});
  ASSERT_EQ(ledger.events().size(), 4U);
  EXPECT_EQ(ledger.events()[1], (SampledGaussian{0.1, 2.0, 1}));
  EXPECT_EQ(ledger.events()[3], (SampledGaussian{0.1, 1.0, 3}));
  EXPECT_EQ(ledger.steps(), 8U);
}

TEST(Ledger, NoStepsAreNoEvent) {
  Ledger ledger;
  ledger.record({0.1, 1.0, 0});
  EXPECT_TRUE(ledger.events().empty());
}

TEST(Ledger, RefusesWhatNoMechanismCanHave) {
  Ledger ledger;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double rate : {0.0, -0.5, 1.5, nan}) {
    EXPECT_THROW(ledger.record({rate, 1.0, 1}), UserError) << rate;
  }
  for (const double noise : {-1.0, nan, infinity}) {
    EXPECT_THROW(ledger.record({0.1, noise, 1}), UserError) << noise;
  }
  EXPECT_EQ(ledger.steps(), 0U);
}

TEST(Ledger, RefusesStepsThatOverflow) {
  Ledger ledger;
  ledger.record({0.1, 1.0, std::numeric_limits<std::uint64_t>::max() - 1});
  EXPECT_THROW(ledger.record({0.1, 1.0, 2}), UserError);
  ledger.record({0.1, 1.0, 1});
}

}  // namespace
}  // namespace lazydp
