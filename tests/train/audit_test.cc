// The audit of every kind of claim. Seeds are fixed; a bound that is right is called wrong with
// probability 1e-6. tests/planted shows that these turn red for errors in the mechanism.

#include "lazydp/train/audit.h"

#include <gtest/gtest.h>

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

AuditFinding audit_of(std::string_view algorithm, Canary canary, Step steps) {
  return audit({.recipe = recipe(algorithm), .canary = canary, .steps = steps, .seed = 1});
}

// A bound that is far below would catch nothing: 0.3 of 1 shows that the attack is a good one.
void expect_tight_and_below(const AuditFinding& finding) {
  EXPECT_NEAR(finding.stated_epsilon, 1.0, 1e-3);
  EXPECT_FALSE(finding.caught()) << "proven " << finding.proven_epsilon << " by looking at "
                                 << finding.attack;
  EXPECT_GT(finding.proven_epsilon, 0.3);
}

TEST(Audit, LazyDpStaysBelowItsClaim) {
  expect_tight_and_below(audit_of("lazydp", Canary::rare, 4));
}

TEST(Audit, LazyDpStaysBelowItsClaimWithRepeatedIds) {
  expect_tight_and_below(audit_of("lazydp", Canary::repeated, 1));
}

TEST(Audit, EagerDpSgdStaysBelowItsClaim) {
  expect_tight_and_below(audit_of("dpsgd-f", Canary::rare, 10));
}

TEST(Audit, CatchesEana) {
  const AuditFinding finding = audit({.recipe = recipe("eana"), .runs = 2000, .seed = 1});
  EXPECT_TRUE(finding.caught());
  EXPECT_GT(finding.proven_epsilon, 5.0);
  EXPECT_EQ(finding.attack, "whether the canary's rows moved at all");
}

TEST(Audit, RepeatsItselfUnderASeed) {
  const AuditPlan plan{.runs = 200, .seed = 3};
  EXPECT_EQ(audit(plan).evidence.threshold, audit(plan).evidence.threshold);
}

TEST(Audit, HasNothingToSayOfSgd) {
  EXPECT_THROW(audit({.recipe = recipe("sgd"), .seed = 1}), UserError);
}

}  // namespace
}  // namespace lazydp
