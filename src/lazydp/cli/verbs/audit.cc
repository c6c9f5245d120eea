// lazydp audit: attacks the claim, and says what the result proves.

#include "lazydp/audit/audit.h"

#include <stdlib.h>

#include <array>
#include <filesystem>
#include <ostream>

#include "lazydp/base/error.h"
#include "lazydp/base/text/number_text.h"
#include "lazydp/cli/options/privacy_limits.h"
#include "lazydp/cli/options/run_options.h"
#include "lazydp/cli/output.h"
#include "lazydp/cli/verbs/audit_words.h"
#include "lazydp/cli/verbs/verbs.h"
#include "lazydp/train/correlation_text.h"

namespace lazydp::cli {
namespace {

constexpr std::uint64_t kFewestRuns = 100;
constexpr std::uint64_t kMostAudited = 10'000'000;
constexpr std::uint64_t kMostSteps = 1000;

constexpr std::array<std::pair<std::string_view, Canary>, 3> kCanaries = {
    {{"rare", Canary::rare}, {"repeated", Canary::repeated}, {"person", Canary::person}}};

// A temporary folder for the runs' files; the destructor removes it.
class Scratch {
 public:
  explicit Scratch(const std::filesystem::path& parent) {
    std::filesystem::create_directories(parent);
    std::string name = (parent / "lazydp-audit-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw system_failure("cannot make a folder in " + parent.string());
    }
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string path() const { return path_; }

 private:
  std::string path_;
};

Step steps_between(const char* name, const Text& given) {
  return given ? static_cast<Step>(whole_number(name, *given, 1, kMostSteps)) : 0;
}

AuditPlan choose_audit(const FlagTexts& given) {
  AuditPlan plan;
  if (given.canaries) {
    throw UserError("canaries is '" + *given.canaries +
                    "', but only --one-run has many; add it, or leave canaries out");
  }
  AuditedRun& run = plan.run;
  if (given.algorithm) run.recipe = recipe(*given.algorithm);
  if (given.canary) run.canary = choice("canary", *given.canary, kCanaries);
  if (given.epsilon) plan.budget.epsilon = positive("epsilon", *given.epsilon);
  if (given.delta) plan.budget.delta = between_0_and_1("delta", *given.delta, "1e-5");
  if (given.steps) run.steps = steps_between("steps", given.steps);
  if (given.sampling_rate) run.sampling_rate = fraction("sampling-rate", *given.sampling_rate);
  if (given.correlation) {
    run.correlation = parse_correlation(*given.correlation,
                                        {.steps = run.steps, .separation = 1, .times = run.steps});
  }
  if (given.lr_schedule) run.rate_schedule = Schedule::parse(*given.lr_schedule);
  run.eval_every = steps_between("eval-every", given.eval_every);
  run.restart_every = steps_between("checkpoint-every", given.checkpoint_every);
  const auto folder = choose_table_folder(given);
  require_trainable_there(run.recipe, folder);
  run.tables_in_files = folder.has_value();
  if (given.runs) plan.runs = whole_number("runs", *given.runs, kFewestRuns, kMostAudited);
  plan.seed = choose_seed(given);
  plan.validate();
  return plan;
}

std::string events_in_words(const AuditedRun& run) {
  std::string words = std::to_string(run.steps) + (run.steps == 1 ? " step" : " steps") +
                      ", sampling rate " + shortest(run.sampling_rate);
  if (!run.correlation.independent()) words += ", noise " + text_of(run.correlation);
  if (!run.rate_schedule.constant()) words += ", learning rate " + run.rate_schedule.text();
  if (run.eval_every > 0) words += ", evaluated every " + std::to_string(run.eval_every);
  if (run.restart_every > 0) {
    words += ", saved and resumed every " + std::to_string(run.restart_every);
  }
  if (run.tables_in_files) words += ", tables in files";
  if (run.canary == Canary::person) words += ", persons sampled";
  return words;
}

void print_finding(std::ostream& out, const AuditPlan& plan, const AuditStakes& stakes,
                   const AuditFinding& finding) {
  const AttackEvidence& evidence = finding.evidence;
  out << plan.run.recipe.name << ": epsilon is at least " << fixed(finding.proven_epsilon, 3)
      << " at delta " << shortest(plan.budget.delta) << ", with confidence 1 - "
      << shortest(plan.alpha) << "; "
      << verdict_in_words(finding.verdict, plan.run.recipe, finding.stated_epsilon, "runs",
                          stakes.runs_needed)
      << ".\n"
      << "  attack      " << finding.attack << "\n"
      << "  evidence    " << with_commas(static_cast<double>(evidence.false_alarms))
      << " false alarms in " << with_commas(static_cast<double>(evidence.runs_without))
      << " runs without the canary, " << with_commas(static_cast<double>(evidence.misses))
      << " misses in " << with_commas(static_cast<double>(evidence.runs_with))
      << " runs with it; as many runs chose the threshold; p-value " << shortest(finding.p_value)
      << "\n"
      << "  mechanism   " << events_in_words(plan.run) << ", noise multiplier "
      << rounded_up(stakes.noise_multiplier, 6)
      << "; the attacker knows the program, the initial weights and all other examples\n";
}

Json json_of(const AuditPlan& plan, const AuditStakes& stakes, const AuditFinding& finding) {
  return {{"kind", "many-runs"},
          {"algorithm", plan.run.recipe.name},
          {"claims", plan.run.recipe.no_claim.empty()},
          {"stated_epsilon", finding.stated_epsilon},
          {"proven_epsilon", finding.proven_epsilon},
          {"delta", plan.budget.delta},
          {"p_value", finding.p_value},
          {"alpha", plan.alpha},
          {"confidence", 1.0 - plan.alpha},
          {"caught", finding.caught()},
          {"verdict", verdict_name(finding.verdict)},
          {"runs", plan.runs},
          {"runs_needed", stakes.runs_needed ? Json(*stakes.runs_needed) : Json()},
          {"attack", finding.attack},
          {"mu", finding.evidence.mu},
          {"false_alarms", finding.evidence.false_alarms},
          {"misses", finding.evidence.misses},
          {"runs_without", finding.evidence.runs_without},
          {"runs_with", finding.evidence.runs_with},
          {"steps", plan.run.steps},
          {"sampling_rate", plan.run.sampling_rate},
          {"correlation", text_of(plan.run.correlation)},
          {"noise_multiplier", stakes.noise_multiplier}};
}

}  // namespace

void audit(const FlagTexts& given) {
  choose_threads(given);
  if (given.one_run && truth("one-run", *given.one_run)) return audit_one_run(given);
  const AuditPlan plan = choose_audit(given);
  warn_of_large_epsilon(plan.budget.epsilon);
  const Output output(given);
  Progress progress = output.progress();
  progress.say("pricing the claim ...");
  const AuditStakes stakes = audit_stakes(plan);
  AuditedRun run = plan.run;
  run.noise_multiplier = stakes.noise_multiplier;
  std::optional<Scratch> scratch;
  if (run.tables_in_files || run.restart_every > 0) {
    scratch.emplace(
        choose_table_folder(given).value_or(std::filesystem::temp_directory_path().string()));
    run.folder = scratch->path();
  }
  if (stakes.runs_needed && plan.runs < *stakes.runs_needed) {
    progress.say("too few runs to catch half the noise; at least " +
                 with_commas(static_cast<double>(*stakes.runs_needed)) + " could");
  }
  progress.say("training " + with_commas(2.0 * static_cast<double>(plan.runs)) + " tiny models");
  const AuditFinding finding = lazydp::audit(plan, run, stakes);
  if (std::ostream* out = output.report()) print_finding(*out, plan, stakes, finding);
  output.write(json_of(plan, stakes, finding));
  require_unbroken(finding.verdict, plan.run.recipe);
}

}  // namespace lazydp::cli
