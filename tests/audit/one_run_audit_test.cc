// The audit in one run, at the size of the click task. Seeds are fixed; a true claim is called
// broken with probability 0.01 at most.

#include "lazydp/audit/one_run_audit.h"

#include <gtest/gtest.h>

#include "lazydp/audit/canary.h"
#include "lazydp/base/error.h"
#include "lazydp/data/synthetic/click_task.h"

namespace lazydp {
namespace {

OneRunFinding found(std::string_view algorithm, double share_of_noise) {
  static const ClickTask click = make_click_task(ClickSize::small);
  const OneRunAudit audit{.recipe = recipe(algorithm), .seed = 1};
  const OneRunStakes stakes = one_run_stakes(audit);
  EXPECT_GE(stakes.plan.power, kAuditPower);
  return judge(audit, stakes,
               train_with_canaries(audit, share_of_noise * stakes.noise_multiplier, *click.train,
                                   named_shape("small")));
}

TEST(OneRunAudit, LazyDpStands) {
  const OneRunFinding finding = found("lazydp", 1.0);
  EXPECT_EQ(finding.verdict, Verdict::stands) << finding.p_value;
  EXPECT_GT(finding.proven_epsilon, 0.5);  // the attack sees something
  EXPECT_LT(finding.proven_epsilon, 3.0);
}

TEST(OneRunAudit, CatchesHalfTheNoise) {
  EXPECT_TRUE(found("lazydp", 0.5).caught());
}

TEST(OneRunAudit, CatchesEana) {
  const OneRunFinding finding = found("eana", 1.0);
  EXPECT_TRUE(finding.caught());
  EXPECT_GT(finding.guesses.correct, finding.guesses.guesses * 99 / 100);
}

TEST(OneRunAudit, SaysThatItCanSayNothing) {
  const OneRunAudit audit{.canaries = 1000, .seed = 1};
  const OneRunStakes stakes = one_run_stakes(audit);
  EXPECT_LT(stakes.plan.power, kAuditPower);
  ASSERT_TRUE(stakes.canaries_needed);
  EXPECT_GT(*stakes.canaries_needed, 1000U);
  const std::vector<bool> in(1000, true);
  const OneRunFinding finding = judge(audit, stakes, {std::vector<double>(1000, 0.0), in});
  EXPECT_EQ(finding.verdict, Verdict::nothing);
}

TEST(OneRunAudit, RefusesWhatCannotBeAudited) {
  EXPECT_THROW(OneRunAudit{.recipe = recipe("sgd")}.validate(), UserError);
  EXPECT_THROW(OneRunAudit{.canaries = 2}.validate(), UserError);
}

TEST(CanaryCrowd, HasRowsOfItsOwnForEveryCanaryThatIsIn) {
  ModelShape shape = named_shape("small", 0.001);
  const CanaryCrowd crowd(nullptr, shape, {true, false, true});
  EXPECT_EQ(crowd.size(), 2U);
  EXPECT_EQ(crowd.table_rows()[0], shape.table_rows[0] + 3);
  Batch batch;
  crowd.read(std::vector<ExampleId>{0, 1}, batch);
  ASSERT_EQ(batch.size, 2U);
  for (const Bags& bags : batch.bags) {
    for (const RowId id : bags.of(0)) EXPECT_EQ(id, shape.table_rows[0]);
    for (const RowId id : bags.of(1)) EXPECT_EQ(id, shape.table_rows[0] + 2);
  }
}

}  // namespace
}  // namespace lazydp
