// The audit of every kind of claim. Seeds are fixed; a bound that is right is called wrong with
// probability 1e-6. tests/planted shows that these turn red for errors in the mechanism.

#include "lazydp/audit/audit.h"

#include <gtest/gtest.h>

#include "lazydp/base/error.h"
#include "tests/support/temporary_folder.h"

namespace lazydp {
namespace {

AuditFinding audit_of(std::string_view algorithm, Canary canary, Step steps) {
  return audit({.run = {.recipe = recipe(algorithm), .canary = canary, .steps = steps}, .seed = 1});
}

// A bound that is far below would catch nothing: 0.3 of 1 shows that the attack is a good one.
void expect_tight_and_below(const AuditFinding& finding) {
  EXPECT_NEAR(finding.stated_epsilon, 1.0, 1e-3);
  EXPECT_FALSE(finding.caught()) << "proven " << finding.proven_epsilon << " by looking at "
                                 << finding.attack;
  EXPECT_EQ(finding.verdict, Verdict::stands);
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
  const AuditFinding finding = audit({.run = {.recipe = recipe("eana")}, .runs = 2000, .seed = 1});
  EXPECT_TRUE(finding.caught());
  EXPECT_GT(finding.proven_epsilon, 5.0);
  EXPECT_EQ(finding.attack, "whether the canary's rows moved at all");
}

// Every kind of run: what happens in it changes neither the claim nor that half the noise is found.
struct Kind {
  const char* name;
  AuditedRun run;
  double epsilon;
  std::uint64_t runs;
};

std::ostream& operator<<(std::ostream& out, const Kind& kind) {
  return out << kind.name;
}

class EveryKindOfRun : public testing::TestWithParam<Kind> {
 protected:
  // With the noise of the claim, or a part of it.
  AuditFinding audited(double share_of_noise) const {
    AuditPlan plan{.run = GetParam().run,
                   .budget = {.epsilon = GetParam().epsilon, .delta = 1e-5},
                   .runs = GetParam().runs,
                   .seed = 1};
    const AuditStakes stakes = audit_stakes(plan);
    AuditedRun run = plan.run;
    run.noise_multiplier = share_of_noise * stakes.noise_multiplier;
    if (run.tables_in_files || run.restart_every > 0) run.folder = folder();
    return audit(plan, run, stakes);
  }

  std::string folder() const { return folder_.path().string(); }

 private:
  TemporaryFolder folder_;
};

TEST_P(EveryKindOfRun, KeepsItsClaimWithItsNoise) {
  const AuditFinding finding = audited(1.0);
  EXPECT_EQ(finding.verdict, Verdict::stands) << finding.p_value;
}

TEST_P(EveryKindOfRun, BreaksItWithHalfOfIt) {
  EXPECT_TRUE(audited(0.5).caught());
}

TEST_P(EveryKindOfRun, BreaksItWhereUnusedRowsHaveNone) {
  AuditPlan plan{.run = GetParam().run, .runs = 400, .seed = 1};
  plan.run.recipe = recipe("eana");
  plan.run.folder = folder();
  const AuditFinding finding = audit(plan);
  EXPECT_TRUE(finding.caught());
  EXPECT_EQ(finding.attack, "whether the canary's rows moved at all");
}

INSTANTIATE_TEST_SUITE_P(
    Audit, EveryKindOfRun,
    testing::Values(
        Kind{"PoissonSamples", {.steps = 12, .sampling_rate = 0.7}, 3.0, 4000},
        Kind{"Schedule", {.steps = 6, .rate_schedule = Schedule::parse("linear")}, 3.0, 3000},
        Kind{"Evaluation", {.steps = 6, .eval_every = 2}, 3.0, 2000},
        Kind{"Restarts", {.steps = 4, .restart_every = 2}, 8.0, 600},
        Kind{"TablesInFiles", {.steps = 4, .tables_in_files = true}, 8.0, 600},
        Kind{"AllAtOnce",
             {.steps = 6,
              .rate_schedule = Schedule::parse("poly:0.5"),
              .eval_every = 2,
              .restart_every = 3,
              .tables_in_files = true},
             8.0,
             600},
        Kind{"Persons", {.canary = Canary::person, .steps = 12, .sampling_rate = 0.7}, 3.0, 4000}),
    [](const auto& chosen) { return std::string(chosen.param.name); });

// 6,784 of each kind are needed: an audit of fewer says so, whatever its attack did.
TEST(Audit, SaysThatItCanSayNothing) {
  const AuditPlan plan{.runs = 1000, .seed = 1};
  const AuditStakes stakes = audit_stakes(plan);
  ASSERT_TRUE(stakes.runs_needed);
  EXPECT_GT(*stakes.runs_needed, 5000U);
  EXPECT_LT(*stakes.runs_needed, 12'000U);
  EXPECT_EQ(audit(plan).verdict, Verdict::nothing);
}

TEST(Audit, RefusesRunsThatCouldProveNothing) {
  EXPECT_THROW(audit({.runs = 20, .seed = 1}), UserError);
}

TEST(Audit, RepeatsItselfUnderASeed) {
  const AuditPlan plan{.runs = 200, .seed = 3};
  EXPECT_EQ(audit(plan).evidence.threshold, audit(plan).evidence.threshold);
}

TEST(Audit, HasNothingToSayOfSgd) {
  EXPECT_THROW(audit({.run = {.recipe = recipe("sgd")}, .seed = 1}), UserError);
}

}  // namespace
}  // namespace lazydp
