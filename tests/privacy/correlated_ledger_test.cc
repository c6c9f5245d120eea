// Blocks of correlated noise in a ledger: what they cost, alone, together and step by step.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/privacy/accountant.h"
#include "lazydp/privacy/binomial.h"
#include "lazydp/privacy/calibration.h"
#include "lazydp/privacy/composition.h"
#include "lazydp/privacy/ledger.h"
#include "lazydp/privacy/ledger_json.h"
#include "lazydp/privacy/trade_off.h"

namespace lazydp {
namespace {

constexpr double kDelta = 1e-6;

CorrelatedGaussian lambda_block(double sigma, Participation allowed, std::uint64_t steps) {
  return {
      .bands = lambda_bands(0.9), .noise_multiplier = sigma, .allowed = allowed, .steps = steps};
}

Ledger ledger_of(const std::vector<PrivacyEvent>& events) {
  Ledger ledger;
  for (const PrivacyEvent& event : events) ledger.record(event);
  return ledger;
}

double epsilon_of(const std::vector<PrivacyEvent>& events) {
  return epsilon(ledger_of(events), kDelta, Accountant::pld);
}

TEST(CorrelatedLedger, StepsOfABlockAreOneEvent) {
  Ledger ledger;
  for (int t = 0; t < 7; ++t) ledger.record(lambda_block(2.0, {10, 10, 1}, 1));
  ASSERT_EQ(ledger.events().size(), 1U);
  EXPECT_EQ(ledger.events()[0], PrivacyEvent(lambda_block(2.0, {10, 10, 1}, 7)));
  EXPECT_EQ(ledger.steps(), 7U);
}

TEST(CorrelatedLedger, RefusesMoreStepsThanTheBlockMayHave) {
  Ledger ledger;
  ledger.record(lambda_block(2.0, {10, 10, 1}, 9));
  ledger.record(lambda_block(2.0, {10, 10, 1}, 1));
  EXPECT_THROW(ledger.record(lambda_block(2.0, {10, 10, 1}, 1)), UserError);
  EXPECT_EQ(ledger.steps(), 10U);
  EXPECT_THROW(ledger_of({lambda_block(2.0, {10, 10, 1}, 11)}), UserError);
}

TEST(CorrelatedLedger, RefusesABlockThatGoesOnAfterOthersOrChanges) {
  Ledger ledger = ledger_of({lambda_block(2.0, {10, 10, 1}, 3), Gaussian{1.0, 1}});
  EXPECT_THROW(ledger.record(lambda_block(2.0, {10, 10, 1}, 1)), UserError);
  EXPECT_THROW(ledger.record(lambda_block(3.0, {10, 10, 1}, 1)), UserError);
  CorrelatedGaussian next = lambda_block(2.0, {10, 10, 1}, 1);
  next.after_step = 3;
  ledger.record(next);
  EXPECT_EQ(ledger.events().size(), 3U);
}

// A model that another one began with may have been trained in the same way: as one block of twice
// as many steps, the two would cost far less than they do.
TEST(CorrelatedLedger, BlocksOfAnotherRunStayApartThroughFiles) {
  Ledger ledger;
  ledger.append(ledger_of({lambda_block(2.0, {10, 10, 1}, 5)}));
  const Ledger before = ledger;
  ledger.append(before);  // and that one began with one of its kind
  Ledger stored = ledger_from(json_of(ledger));
  stored.begin_run();
  for (Ledger* each : {&ledger, &stored}) {
    each->record(lambda_block(2.0, {10, 10, 1}, 4));
    *each = ledger_from(json_of(*each));
    each->record(lambda_block(2.0, {10, 10, 1}, 1));
    ASSERT_EQ(each->events().size(), 3U);
    for (const PrivacyEvent& event : each->events()) {
      EXPECT_EQ(std::get<CorrelatedGaussian>(event).steps, 5U);
    }
  }
}

TEST(CorrelatedLedger, RefusesWhatNoMechanismCanHave) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(ledger_of({lambda_block(nan, {10, 10, 1}, 1)}), UserError);
  EXPECT_THROW(ledger_of({lambda_block(-1, {10, 10, 1}, 1)}), UserError);
  EXPECT_THROW(ledger_of({lambda_block(1, {10, 0, 1}, 1)}), UserError);
  EXPECT_THROW(ledger_of({lambda_block(1, {kMostBlockSteps + 1, 1, 1}, 1)}), UserError);
  CorrelatedGaussian alternating = lambda_block(1, {10, 10, 1}, 1);
  alternating.bands = {1.0, 0.5};
  EXPECT_THROW(ledger_of({alternating}), UserError);
}

TEST(CorrelatedLedger, ComesBackFromJsonAsItWas) {
  CorrelatedGaussian block = lambda_block(2.5, {480, 24, 20}, 100);
  block.bands = bisr_bands(16);
  block.sampling = BlockSampling::balls_in_bins;
  block.after_step = 77;
  block.disjoint = true;
  const Ledger ledger = ledger_of({SampledGaussian{0.25, 1.0, 77}, block});
  EXPECT_TRUE(std::ranges::equal(ledger_from(Json::parse(json_of(ledger).dump())).events(),
                                 ledger.events()));
  EXPECT_EQ(json_of(ledger_of({lambda_block(2.0, {10, 5, 2}, 7)})).dump(),
            R"([{"mechanism":"correlated_gaussian","noise_multiplier":2.0,"bands":[1.0,-0.9],)"
            R"("sampling":"stream","block_steps":10,"separation":5,"participations":2,)"
            R"("after_step":0,"disjoint":false,"steps":7}])");
}

// The Gaussian mechanism's noise at delta = 1e-6, computed apart.
TEST(CorrelatedLedger, NoiseForABudgetIsTheGaussiansTimesTheSensitivity) {
  const std::vector<std::pair<double, double>> budgets = {
      {1.0, 4.22468}, {3.0, 1.54386}, {8.0, 0.65294}};
  for (const auto& [budget, sigma] : budgets) {
    for (const Participation& allowed :
         std::vector<Participation>{{200, 200, 1}, {200, 50, 4}, {480, 24, 20}}) {
      const double found = noise_for_budget(
          {budget, kDelta},
          [&](double noise) { return ledger_of({lambda_block(noise, allowed, allowed.steps)}); },
          Accountant::pld);
      EXPECT_NEAR(found, sigma * sensitivity(lambda_bands(0.9), allowed), 1e-5 * found);
    }
  }
}

TEST(CorrelatedLedger, APrefixIsTheGaussianOfItsOwnSensitivity) {
  const Participation allowed = {60, 20, 3};
  double last = 0.0;
  for (std::uint64_t n = 1; n <= 60; ++n) {
    const double cost = epsilon_of({lambda_block(4.0, allowed, n)});
    const double moved = sensitivity(lambda_bands(0.9), {n, 20, 3});
    EXPECT_NEAR(cost, gaussian_epsilon(moved / 4.0, kDelta), 1e-9) << n;
    EXPECT_GT(cost, last);
    last = cost;
  }
}

TEST(CorrelatedLedger, RenyiIsAboveTheClosedForm) {
  const Ledger ledger = ledger_of({lambda_block(4.0, {60, 20, 3}, 60)});
  const double exact = epsilon(ledger, kDelta, Accountant::pld);
  const double renyi = epsilon(ledger, kDelta, Accountant::rdp);
  EXPECT_GT(renyi, exact);
  EXPECT_LT(renyi, 1.2 * exact);
}

TEST(CorrelatedLedger, BlocksComposeOneAfterTheOther) {
  CorrelatedGaussian second = lambda_block(5.0, {40, 40, 1}, 40);
  second.after_step = 60;
  const double first_mu = sensitivity(lambda_bands(0.9), {60, 20, 3}) / 4.0;
  const double second_mu = sensitivity(lambda_bands(0.9), {40, 40, 1}) / 5.0;
  EXPECT_NEAR(epsilon_of({lambda_block(4.0, {60, 20, 3}, 60), second}),
              gaussian_epsilon(std::hypot(first_mu, second_mu), kDelta), 1e-9);
}

TEST(CorrelatedLedger, OfDisjointBlocksTheCostliestCounts) {
  CorrelatedGaussian cheap = lambda_block(9.0, {60, 60, 1}, 60);
  CorrelatedGaussian costly = lambda_block(4.0, {40, 40, 1}, 40);
  costly.after_step = 60;
  const double one_after_other = epsilon_of({cheap, costly});
  cheap.disjoint = true;
  EXPECT_NEAR(epsilon_of({cheap, costly}), one_after_other, 1e-9);  // one alone is disjoint of none
  costly.disjoint = true;
  EXPECT_NEAR(epsilon_of({cheap, costly}), epsilon_of({costly}), 1e-9);
  EXPECT_LT(epsilon_of({cheap, costly}), one_after_other);
  // What is not disjoint is added to each.
  EXPECT_NEAR(epsilon_of({Gaussian{3.0, 2}, cheap, costly}), epsilon_of({Gaussian{3.0, 2}, costly}),
              1e-9);
  // The same for a delta.
  EXPECT_NEAR(delta(ledger_of({cheap, costly}), 1.0, Accountant::pld),
              delta(ledger_of({costly}), 1.0, Accountant::pld), 1e-15);
}

TEST(CorrelatedLedger, AYearOfEqualDisjointDaysCostsADay) {
  Ledger year;
  CorrelatedGaussian day = lambda_block(4.0, {100, 100, 1}, 100);
  day.disjoint = true;
  for (std::uint64_t d = 0; d < 365; ++d) {
    day.after_step = 100 * d;
    year.record(day);
  }
  EXPECT_NEAR(epsilon(year, kDelta, Accountant::pld), epsilon_of({day}), 1e-12);
}

TEST(CorrelatedLedger, ComposesWithSampledSteps) {
  const SampledGaussian sampled = {0.01, 1.0, 500};
  const CorrelatedGaussian block = lambda_block(8.0, {60, 20, 3}, 60);
  const double together = epsilon_of({sampled, block});
  EXPECT_GT(together, std::max(epsilon_of({sampled}), epsilon_of({block})));
  EXPECT_LT(together, epsilon_of({sampled}) + epsilon_of({block}));
  // As if the block were the Gaussian that it is.
  const double moved = sensitivity(block.bands, block.allowed);
  EXPECT_NEAR(together, epsilon_of({sampled, Gaussian{8.0 / moved, 1}}), 1e-6);
}

TEST(CorrelatedLedger, WithoutNoiseNothingHolds) {
  EXPECT_EQ(epsilon_of({lambda_block(0.0, {10, 10, 1}, 3)}),
            std::numeric_limits<double>::infinity());
  EXPECT_EQ(epsilon(ledger_of({lambda_block(0.0, {10, 10, 1}, 3)}), kDelta, Accountant::rdp),
            std::numeric_limits<double>::infinity());
}

TEST(CorrelatedLedger, AppendedRunsNeitherMergeNorStayDisjoint) {
  CorrelatedGaussian day = lambda_block(4.0, {100, 100, 1}, 50);
  day.disjoint = true;
  Ledger both = ledger_of({day});
  both.append(ledger_of({day}));
  ASSERT_EQ(both.events().size(), 2U);
  EXPECT_EQ(both.steps(), 100U);
  const double mu = sensitivity(day.bands, {50, 100, 1}) / 4.0;
  EXPECT_NEAR(epsilon(both, kDelta, Accountant::pld), gaussian_epsilon(std::sqrt(2.0) * mu, kDelta),
              1e-9);
  both.record(lambda_block(4.0, {100, 100, 1}, 1));  // a third run
  EXPECT_EQ(both.events().size(), 3U);
}

// An attacker who sees only the sum of all steps: less noise than the ledger allows for.
TEST(CorrelatedLedger, TheSumOfABlockIsAWeakerAttackThanItsLedgerAllows) {
  const Ledger ledger = ledger_of({lambda_block(4.0, {100, 25, 4}, 100)});
  const TradeOff claim = TradeOff::of(ledger);
  const TradeOff sum = TradeOff::of_sum(ledger);
  // 4 participations; noise 4 sqrt(1 + 99 * 0.1^2).
  const TradeOff expected = TradeOff::gaussian(4.0 / (4.0 * std::sqrt(1 + 99 * 0.01)));
  for (const double alarm : {0.001, 0.01, 0.1, 0.5}) {
    EXPECT_LT(claim.least_miss(alarm), sum.least_miss(alarm));
    EXPECT_NEAR(sum.least_miss(alarm), expected.least_miss(alarm), 2e-3);
  }
}

}  // namespace
}  // namespace lazydp
