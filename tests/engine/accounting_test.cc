// The privacy accounting of the public headers, as another program calls it. The folder privacy/
// has tests of its own; here each function is called once, and linked.

#include <gtest/gtest.h>

#include "lazydp/base/error.h"
#include "lazydp/privacy/accountant.h"
#include "lazydp/privacy/calibration.h"
#include "lazydp/privacy/ledger.h"

namespace lazydp {
namespace {

// Opacus' documented value for the same run, by the same method.
TEST(PublicAccounting, EpsilonOfAKnownRun) {
  Ledger ledger;
  ledger.record({.sampling_rate = 0.04, .noise_multiplier = 1.5, .steps = 2000});
  ledger.record({.sampling_rate = 0.04, .noise_multiplier = 1.5, .steps = 250});
  EXPECT_EQ(ledger.steps(), 2250u);
  EXPECT_EQ(ledger.events().size(), 1u);
  EXPECT_NEAR(epsilon(ledger, 1e-5, Accountant::rdp), 7.32911117143, 1e-4);
  EXPECT_LT(epsilon(ledger, 1e-5, Accountant::pld), 7.32911117143);
}

TEST(PublicAccounting, ABudgetIsSpentAndNotExceeded) {
  const Budget budget{.epsilon = 8.0, .delta = 1e-5};
  const double noise = noise_for_budget(budget, 0.04, 2250, Accountant::rdp);
  EXPECT_NEAR(noise, 1.416, 0.01);
  EXPECT_GE(max_steps(budget, 0.04, noise, Accountant::rdp), 2250u);
  Ledger ledger;
  ledger.record({.sampling_rate = 0.04, .noise_multiplier = noise, .steps = 2250});
  EXPECT_LE(delta(ledger, 8.0, Accountant::rdp), 1e-5 * (1.0 + 1e-9));
}

TEST(PublicAccounting, ErrorsOfTheLibraryCanBeCaught) {
  EXPECT_EQ(accountant_name(accountant_from_name("pld")), "pld");
  EXPECT_THROW(accountant_from_name("abacus"), UserError);
  Ledger ledger;
  EXPECT_THROW(ledger.record({.sampling_rate = 2.0, .noise_multiplier = 1.0, .steps = 1}),
               UserError);
}

}  // namespace
}  // namespace lazydp
