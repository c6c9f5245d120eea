#include "lazydp/privacy/ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "lazydp/base/error.h"
#include "lazydp/privacy/accountant.h"
#include "lazydp/privacy/binomial.h"
#include "lazydp/privacy/ledger_json.h"

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
  EXPECT_EQ(ledger.events()[0], (PrivacyEvent(SampledGaussian{0.1, 1.0, 7})));
  EXPECT_EQ(ledger.steps(), 7U);
}

TEST(Ledger, KeepsTheOrderOfWhatHappened) {
  Ledger ledger;
  ledger.record({0.1, 1.0, 3});
  ledger.record({0.1, 2.0, 1});
  ledger.record({0.2, 2.0, 1});
  ledger.record({0.1, 1.0, 3});
  ASSERT_EQ(ledger.events().size(), 4U);
  EXPECT_EQ(ledger.events()[1], (PrivacyEvent(SampledGaussian{0.1, 2.0, 1})));
  EXPECT_EQ(ledger.events()[3], (PrivacyEvent(SampledGaussian{0.1, 1.0, 3})));
  EXPECT_EQ(ledger.steps(), 8U);
}

TEST(Ledger, EventsOfTwoMechanismsStayApart) {
  Ledger ledger;
  ledger.record({1.0, 2.0, 3});
  ledger.record(Gaussian{2.0, 4});
  ledger.record(Gaussian{2.0, 5});
  ASSERT_EQ(ledger.events().size(), 2U);
  EXPECT_EQ(ledger.events()[1], PrivacyEvent(Gaussian{2.0, 9}));
  EXPECT_EQ(ledger.steps(), 12U);
  EXPECT_EQ(sampling_rate(ledger.events()[1]), 1.0);
}

TEST(Ledger, AGaussianCostsWhatTheTheoremSays) {
  Ledger ledger;
  ledger.record(Gaussian{2.0, 9});  // in all a Gaussian mechanism of mu = sqrt(9) / 2
  EXPECT_NEAR(epsilon(ledger, 1e-5, Accountant::pld), gaussian_epsilon(1.5, 1e-5), 1e-3);
  ledger.record(Gaussian{0.0, 1});
  EXPECT_EQ(epsilon(ledger, 1e-5, Accountant::rdp), std::numeric_limits<double>::infinity());
}

TEST(LedgerJson, TheSampledGaussianHasThreeKeys) {  // as in every card and checkpoint so far
  Ledger ledger;
  ledger.record({0.25, 1.0, 3});
  EXPECT_EQ(json_of(ledger).dump(), R"([{"sampling_rate":0.25,"noise_multiplier":1.0,"steps":3}])");
}

TEST(LedgerJson, ComesBackAsItWas) {
  Ledger ledger;
  ledger.record({0.25, 1.0, 3});
  ledger.record(Gaussian{2.0, 4});
  EXPECT_TRUE(std::ranges::equal(ledger_from(json_of(ledger)).events(), ledger.events()));
}

TEST(LedgerJson, RefusesAMechanismThatItDoesNotKnow) {
  const Json later = {{{"mechanism", "laplace"}, {"noise_multiplier", 1.0}, {"steps", 3}}};
  EXPECT_THROW(ledger_from(later), IoError);
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
    EXPECT_THROW(ledger.record(Gaussian{noise, 1}), UserError) << noise;
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
