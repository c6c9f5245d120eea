// The audit of noise that is correlated from step to step: one example is in every step of a
// stream. A bound that is right is called wrong with probability 1e-6.

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "lazydp/audit/audit.h"
#include "lazydp/base/error.h"
#include "lazydp/privacy/correlated_noise.h"

namespace lazydp {
namespace {

AuditPlan plan_of(std::string_view algorithm, const Correlation& correlation) {
  return {.run = {.recipe = recipe(algorithm),
                  .steps = 4,
                  .correlation = correlation,
                  .rate_schedule =
                      Schedule::parse("linear")},  // the sum shows more than under a constant rate
          .budget = {.epsilon = 3.0, .delta = 1e-5},
          .runs = 6000,
          .seed = 1};
}

const Correlation kLambda(lambda_bands(0.9));

class CorrelatedAudit : public testing::TestWithParam<const char*> {};

// The sensitivity is written out for l = 0.9: an example that is in every step moves step t of the
// mechanism by 1 + l + ... + l^(t-1). A bound far below the claim would catch nothing.
TEST_P(CorrelatedAudit, StaysBelowItsClaim) {
  const AuditPlan plan = plan_of(GetParam(), kLambda);
  const double four = std::sqrt(1 + 1.9 * 1.9 + 2.71 * 2.71 + 3.439 * 3.439);
  EXPECT_NEAR(audit_stakes(plan).noise_multiplier,
              four / 2 * audit_stakes(plan_of(GetParam(), Correlation())).noise_multiplier, 1e-3);
  const AuditFinding finding = audit(plan);
  EXPECT_EQ(finding.verdict, Verdict::stands) << finding.p_value;
  EXPECT_GT(finding.proven_epsilon, 1.0);
  EXPECT_LT(finding.proven_epsilon, 3.0);
}

// Such an accountant takes the noise of independent steps to be enough.
TEST_P(CorrelatedAudit, BreaksTheClaimOfAnAccountantThatForgetsTheCorrelation) {
  const AuditPlan forgetful = plan_of(GetParam(), Correlation());
  const AuditStakes stakes = audit_stakes(forgetful);
  AuditedRun run = plan_of(GetParam(), kLambda).run;
  run.noise_multiplier = stakes.noise_multiplier;
  const AuditFinding finding = audit(forgetful, run, stakes);
  EXPECT_TRUE(finding.caught()) << finding.p_value;
  EXPECT_GT(finding.proven_epsilon, 3.0);
}

INSTANTIATE_TEST_SUITE_P(Audit, CorrelatedAudit,
                         testing::Values("lazydp", "lazydp-no-ans", "dpsgd-f"),
                         [](const auto& chosen) {
                           std::string name = chosen.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Audit, RefusesCorrelatedNoiseOfPoissonSamplesAndOfEana) {
  EXPECT_THROW(audit_stakes(plan_of("eana", kLambda)), UserError);
  AuditPlan plan = plan_of("lazydp", kLambda);
  plan.run.sampling_rate = 0.5;
  EXPECT_THROW(audit_stakes(plan), UserError);
}

}  // namespace
}  // namespace lazydp
