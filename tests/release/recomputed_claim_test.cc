// A card that claims less than its ledger costs is found out.

#include <gtest/gtest.h>

#include "lazydp/base/error.h"
#include "lazydp/privacy/accountant.h"
#include "lazydp/release/card.h"

namespace lazydp {
namespace {

Json card_claiming(double epsilon, const std::string& accountant = "pld") {
  return {{"claim", {{"epsilon", epsilon}, {"delta", 1e-6}, {"accountant", accountant}}},
          {"ledger",
           {{{"sampling_rate", 0.01}, {"noise_multiplier", 1.0}, {"steps", 1000}},
            {{"sampling_rate", 0.02}, {"noise_multiplier", 2.0}, {"steps", 100}}}}};
}

Ledger ledger_on_card() {
  Ledger ledger;
  ledger.record({0.01, 1.0, 1000});
  ledger.record({0.02, 2.0, 100});
  return ledger;
}

TEST(RecomputedClaim, IsWhatTheLedgerCosts) {
  for (const Accountant by : {Accountant::pld, Accountant::rdp}) {
    const double cost = epsilon(ledger_on_card(), 1e-6, by);
    const auto claim = recompute_claim(card_claiming(cost, std::string(accountant_name(by))));
    ASSERT_TRUE(claim);
    EXPECT_DOUBLE_EQ(claim->recomputed, cost);
    EXPECT_TRUE(recompute_claim(card_claiming(cost + 1.0))) << "to claim more is allowed";
    EXPECT_THROW(recompute_claim(card_claiming(cost * 0.999, std::string(accountant_name(by)))),
                 PrivacyError);
  }
}

TEST(RecomputedClaim, RefusesALedgerOfOtherSteps) {
  Json card = card_claiming(epsilon(ledger_on_card(), 1e-6, Accountant::pld));
  card["ledger"][0]["steps"] = 1100;
  EXPECT_THROW(recompute_claim(card), PrivacyError);
  card["ledger"][0]["steps"] = 900;
  EXPECT_TRUE(recompute_claim(card));
}

TEST(RecomputedClaim, OfASearchCountsTheSearch) {
  Json card = card_claiming(30.0, "rdp");
  card["claim"]["search"] = {
      {"candidates", 4}, {"eta", 0.0}, {"gamma", 0.05}, {"score_noise_multiplier", 5.0}};
  const auto searched = recompute_claim(card);
  ASSERT_TRUE(searched);
  EXPECT_GT(searched->recomputed, epsilon(ledger_on_card(), 1e-6, Accountant::rdp));
  card["claim"]["epsilon"] = searched->recomputed * 0.99;
  EXPECT_THROW(recompute_claim(card), PrivacyError);
}

TEST(RecomputedClaim, IsNoneWhereNothingIsClaimedAndRefusesWhatIsNoCard) {
  EXPECT_FALSE(recompute_claim({{"claim", {{"statement", "no privacy claim"}}}}));
  EXPECT_THROW(recompute_claim(Json()), UserError);
  Json card = card_claiming(5.0);
  card["claim"]["epsilon"] = "five";
  EXPECT_THROW(recompute_claim(card), UserError);
  card = card_claiming(5.0);
  card.erase("ledger");
  EXPECT_THROW(recompute_claim(card), UserError);
}

}  // namespace
}  // namespace lazydp
