#include "lazydp/privacy/accountant.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "lazydp/base/error.h"
#include "lazydp/privacy/pld/pld.h"
#include "lazydp/privacy/rdp.h"
#include "oracle.h"

namespace lazydp {
namespace {

TEST(Accountant, NamesGoBothWays) {
  for (const Accountant accountant : {Accountant::rdp, Accountant::pld}) {
    EXPECT_EQ(accountant_from_name(accountant_name(accountant)), accountant);
  }
}

TEST(Accountant, AnUnknownNameIsRefusedWithTheKnownOnes) {
  try {
    accountant_from_name("moments");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()), "accountant is moments; it must be rdp or pld");
  }
}

TEST(Accountant, AsksTheOneThatWasNamed) {
  const Ledger ledger = ledger_of(0.01, 1, 100);
  EXPECT_EQ(epsilon(ledger, 1e-5, Accountant::rdp), rdp_epsilon(ledger, 1e-5));
  EXPECT_EQ(epsilon(ledger, 1e-5, Accountant::pld), pld_epsilon(ledger, 1e-5));
  EXPECT_EQ(delta(ledger, 1, Accountant::rdp), rdp_delta(ledger, 1));
  EXPECT_EQ(delta(ledger, 1, Accountant::pld), pld_delta(ledger, 1));
}

TEST(Accountant, RefusesImpossibleQuestions) {
  const Ledger ledger = ledger_of(0.01, 1, 100);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Accountant accountant : {Accountant::rdp, Accountant::pld}) {
    for (const double bad : {0.0, 1.0, -0.1, 2.0, nan}) {
      EXPECT_THROW(epsilon(ledger, bad, accountant), UserError) << bad;
      EXPECT_THROW(epsilon(Ledger(), bad, accountant), UserError) << bad;
    }
    for (const double bad : {-0.1, nan}) {
      EXPECT_THROW(delta(ledger, bad, accountant), UserError) << bad;
    }
  }
}

TEST(Accountant, KnowsTheTrivialAnswers) {
  for (const Accountant accountant : {Accountant::rdp, Accountant::pld}) {
    EXPECT_EQ(epsilon(Ledger(), 1e-5, accountant), 0);
    EXPECT_EQ(delta(Ledger(), 0, accountant), 0);
    EXPECT_TRUE(std::isinf(epsilon(ledger_of(0.01, 0, 1), 1e-5, accountant)));
  }
}

}  // namespace
}  // namespace lazydp
