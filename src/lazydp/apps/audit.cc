// lazydp audit: tries to break the claim, and says what that proves.

#include "lazydp/train/audit.h"

#include <array>
#include <ostream>

#include "lazydp/apps/careful.h"
#include "lazydp/apps/number_text.h"
#include "lazydp/apps/output.h"
#include "lazydp/apps/run_options.h"
#include "lazydp/apps/verbs.h"

namespace lazydp::apps {
namespace {

constexpr std::uint64_t kFewestRuns = 100;
constexpr std::uint64_t kMostRuns = 10'000'000;
constexpr std::uint64_t kMostSteps = 1000;

constexpr std::array<std::pair<std::string_view, Canary>, 2> kCanaries = {
    {{"rare", Canary::rare}, {"repeated", Canary::repeated}}};

AuditPlan choose_audit(const Given& given) {
  AuditPlan plan;
  if (given.algorithm) plan.recipe = recipe(*given.algorithm);
  if (given.canary) plan.canary = choice("canary", *given.canary, kCanaries);
  if (given.epsilon) plan.budget.epsilon = positive("epsilon", *given.epsilon);
  if (given.delta) {
    const auto delta = number(*given.delta);
    if (!delta || !(*delta > 0.0 && *delta < 1.0)) {
      refuse("delta", *given.delta, "above 0 and below 1, for example 1e-5");
    }
    plan.budget.delta = *delta;
  }
  if (given.steps) {
    plan.steps = static_cast<Step>(whole_number("steps", *given.steps, 1, kMostSteps));
  }
  if (given.runs) plan.runs = whole_number("runs", *given.runs, kFewestRuns, kMostRuns);
  plan.seed = choose_seed(given);
  plan.validate();
  return plan;
}

bool claims(const AuditPlan& plan) {
  return plan.recipe.no_claim.empty();
}

std::string verdict(const AuditPlan& plan, const AuditFinding& finding) {
  const std::string stated = rounded_up(finding.stated_epsilon, 4);
  if (claims(plan)) {
    return finding.caught() ? "BROKEN: the claim of epsilon " + stated + " is false"
                            : "the claim of epsilon " + stated + " stands";
  }
  return std::string(plan.recipe.name) + " claims nothing, and its noise would suggest epsilon " +
         stated + (finding.caught() ? ": believing that would be wrong (" : " (") +
         std::string(plan.recipe.no_claim) + ")";
}

void print_finding(std::ostream& out, const AuditPlan& plan, const AuditFinding& finding) {
  const AttackEvidence& evidence = finding.evidence;
  out << plan.recipe.name << ": epsilon is at least " << fixed(finding.proven_epsilon, 3)
      << " at delta " << shortest(plan.budget.delta) << ", with confidence 1 - "
      << shortest(plan.alpha) << "; " << verdict(plan, finding) << ".\n"
      << "  attack      " << finding.attack << "\n"
      << "  evidence    " << with_commas(static_cast<double>(evidence.false_alarms))
      << " false alarms in " << with_commas(static_cast<double>(evidence.runs_without))
      << " runs without the canary, " << with_commas(static_cast<double>(evidence.misses))
      << " misses in " << with_commas(static_cast<double>(evidence.runs_with))
      << " runs with it; as many runs chose the threshold\n"
      << "  mechanism   " << plan.steps << (plan.steps == 1 ? " step" : " steps")
      << ", sampling rate 1, noise multiplier " << rounded_up(finding.noise_multiplier, 6)
      << "; the attacker knows the program, the initial weights and all other examples\n";
}

Json json_of(const AuditPlan& plan, const AuditFinding& finding) {
  return {{"algorithm", plan.recipe.name},
          {"claims", claims(plan)},
          {"stated_epsilon", finding.stated_epsilon},
          {"proven_epsilon", finding.proven_epsilon},
          {"delta", plan.budget.delta},
          {"confidence", 1.0 - plan.alpha},
          {"caught", finding.caught()},
          {"attack", finding.attack},
          {"mu", finding.evidence.mu},
          {"false_alarms", finding.evidence.false_alarms},
          {"misses", finding.evidence.misses},
          {"runs_without", finding.evidence.runs_without},
          {"runs_with", finding.evidence.runs_with},
          {"steps", plan.steps},
          {"noise_multiplier", finding.noise_multiplier}};
}

}  // namespace

void audit(const Given& given) {
  choose_threads(given);
  const AuditPlan plan = choose_audit(given);
  warn_of_large_epsilon(plan.budget.epsilon);
  const Output output(given);
  output.progress().say("training " + with_commas(2.0 * static_cast<double>(plan.runs)) +
                        " tiny models");
  const AuditFinding finding = lazydp::audit(plan);
  if (std::ostream* out = output.report()) print_finding(*out, plan, finding);
  output.write(json_of(plan, finding));
  if (claims(plan) && finding.caught()) {
    throw PrivacyError("the audit broke the claim of " + std::string(plan.recipe.name) +
                       ": do not release models of this program");
  }
}

}  // namespace lazydp::apps
