// lazydp audit --one-run: one training run of full size, and what its canaries prove.

#include <ostream>

#include "lazydp/audit/one_run_audit.h"
#include "lazydp/base/text/number_text.h"
#include "lazydp/cli/options/run_options.h"
#include "lazydp/cli/output.h"
#include "lazydp/cli/verbs/audit_words.h"
#include "lazydp/cli/verbs/verbs.h"
#include "lazydp/data/synthetic/click_task.h"

namespace lazydp::cli {
namespace {

constexpr std::uint64_t kMostAuditSteps = 100'000;

void refuse_flag(const Text& given, const char* name) {
  if (!given) return;
  throw UserError(std::string(name) + " is '" + *given +
                  "', but --one-run trains one model in memory; leave it out");
}

OneRunAudit choose_one_run(const FlagTexts& given) {
  refuse_flag(given.runs, "runs");
  refuse_flag(given.canary, "canary");
  refuse_flag(given.eval_every, "eval-every");
  refuse_flag(given.checkpoint_every, "checkpoint-every");
  refuse_flag(given.table_storage, "table-storage");
  if (given.correlation) {
    throw UserError("correlation is '" + *given.correlation +
                    "', but --one-run audits independent noise; leave one of them out");
  }
  OneRunAudit audit;
  if (given.algorithm) audit.recipe = recipe(*given.algorithm);
  if (given.epsilon) audit.budget.epsilon = positive("epsilon", *given.epsilon);
  if (given.delta) audit.budget.delta = between_0_and_1("delta", *given.delta, "1e-5");
  if (given.steps) {
    audit.steps = static_cast<Step>(whole_number("steps", *given.steps, 1, kMostAuditSteps));
  }
  if (given.sampling_rate) audit.sampling_rate = fraction("sampling-rate", *given.sampling_rate);
  if (given.lr_schedule) audit.rate_schedule = Schedule::parse(*given.lr_schedule);
  if (given.canaries) {
    audit.canaries = whole_number("canaries", *given.canaries, 8, kMostCanaries);
  }
  audit.seed = choose_seed(given);
  audit.validate();
  return audit;
}

void print_finding(std::ostream& out, const OneRunAudit& audit, const OneRunStakes& stakes,
                   const OneRunFinding& finding, const std::string& verdict) {
  const OneRunGuesses& made = finding.guesses;
  out << audit.recipe.name << ", in one run: epsilon is at least "
      << fixed(finding.proven_epsilon, 3) << " at delta " << shortest(audit.budget.delta)
      << " whatever the mechanism; p-value of the claimed trade-off curve "
      << shortest(finding.p_value) << ", false alarms at most " << shortest(audit.alpha) << "; "
      << verdict << ".\n"
      << "  evidence    " << with_commas(static_cast<double>(made.correct)) << " of "
      << with_commas(static_cast<double>(made.guesses)) << " guesses right, about "
      << with_commas(static_cast<double>(made.canaries)) << " canaries; "
      << with_commas(static_cast<double>(stakes.plan.needed)) << " would break the claim\n"
      << "  power       half the noise is caught with probability " << fixed(stakes.plan.power, 3)
      << " by an attack that sees five sixths of what a perfect one sees\n"
      << "  mechanism   " << audit.steps << (audit.steps == 1 ? " step" : " steps")
      << ", sampling rate " << shortest(audit.sampling_rate) << ", noise multiplier "
      << rounded_up(stakes.noise_multiplier, 6)
      << "; the attacker knows the program, the initial weights and all other examples\n";
}

Json json_of(const OneRunAudit& audit, const OneRunStakes& stakes, const OneRunFinding& finding) {
  return {{"kind", "one-run"},
          {"algorithm", audit.recipe.name},
          {"claims", audit.recipe.no_claim.empty()},
          {"stated_epsilon", stakes.stated_epsilon},
          {"proven_epsilon", finding.proven_epsilon},
          {"delta", audit.budget.delta},
          {"p_value", finding.p_value},
          {"alpha", audit.alpha},
          {"confidence", 1.0 - audit.alpha},
          {"caught", finding.caught()},
          {"verdict", verdict_name(finding.verdict)},
          {"canaries", finding.guesses.canaries},
          {"canaries_needed", stakes.canaries_needed ? Json(*stakes.canaries_needed) : Json()},
          {"guesses", finding.guesses.guesses},
          {"correct", finding.guesses.correct},
          {"correct_needed", stakes.plan.needed},
          {"power", stakes.plan.power},
          {"steps", audit.steps},
          {"sampling_rate", audit.sampling_rate},
          {"noise_multiplier", stakes.noise_multiplier}};
}

}  // namespace

void audit_one_run(const FlagTexts& given) {
  const OneRunAudit audit = choose_one_run(given);
  const Output output(given);
  Progress progress = output.progress();
  progress.say("pricing the claim ...");
  const OneRunStakes stakes = one_run_stakes(audit);
  progress.say("training on the click task with about " +
               with_commas(static_cast<double>(audit.canaries) / 2) + " of " +
               with_commas(static_cast<double>(audit.canaries)) + " canaries ...");
  const ClickTask click = make_click_task(ClickSize::small);
  const CanaryScores scores =
      train_with_canaries(audit, stakes.noise_multiplier, *click.train, named_shape("small"));
  const OneRunFinding finding = judge(audit, stakes, scores);
  const std::string verdict = verdict_in_words(finding.verdict, audit.recipe, stakes.stated_epsilon,
                                               "canaries", stakes.canaries_needed);
  if (std::ostream* out = output.report()) print_finding(*out, audit, stakes, finding, verdict);
  output.write(json_of(audit, stakes, finding));
  require_unbroken(finding.verdict, audit.recipe);
}

}  // namespace lazydp::cli
