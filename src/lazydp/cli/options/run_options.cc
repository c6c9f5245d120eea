#include "lazydp/cli/options/run_options.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include "lazydp/base/parallel.h"
#include "lazydp/base/text/toml.h"
#include "lazydp/cli/options/initial_options.h"
#include "lazydp/cli/options/privacy_limits.h"
#include "lazydp/cli/options/sampling_options.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/cli/run/ranks.h"
#include "lazydp/privacy/lifetime_ledger.h"
#include "lazydp/random/cell.h"
#include "lazydp/random/noise_source.h"
#include "lazydp/train/defaults.h"
#include "lazydp/train/evaluation.h"
#include "lazydp/train/plan.h"

namespace lazydp::cli {
namespace {

Schedule choose_rate_schedule(const FlagTexts& given, const Defaults& defaults, Step steps) {
  if (given.lr_schedule) return Schedule::parse(*given.lr_schedule);
  return {.shape = defaults.shape, .warmup = static_cast<Step>(defaults.warmup * steps)};
}

Schedule schedule_or_constant(const Text& text) {
  return text ? Schedule::parse(*text) : Schedule{};
}

// By default delta is below one in the number of examples: a larger delta would allow disclosing an
// example entirely.
double choose_delta(const FlagTexts& given, const Defaults& defaults, std::uint64_t examples) {
  if (!given.delta) return std::min(defaults.delta, 0.9 / static_cast<double>(examples));
  const auto delta = number(*given.delta);
  if (!delta || !(*delta > 0.0 && *delta < 1.0)) {
    refuse("delta", *given.delta, "above 0 and below 1, for example 1e-6");
  }
  require_small_delta(given, *delta, examples);
  return *delta;
}

// A budget chooses the noise, unless the user did: then it only says when to stop. Where nothing
// can be claimed, a usual budget still says how much noise is usual.
void choose_budget(const FlagTexts& given, const Defaults& defaults, RunOptions& run) {
  const bool usual = !given.epsilon && !given.noise_multiplier && defaults.epsilon > 0.0;
  if (!given.epsilon && !usual) return;
  Plan& plan = run.plan;
  plan.budget = Budget{usual ? defaults.epsilon : positive("epsilon", *given.epsilon), run.delta};
  if (!usual && !plan.recipe.no_claim.empty()) {
    throw PrivacyError("epsilon is '" + *given.epsilon + "', but nothing can be claimed for " +
                       std::string(plan.recipe.name) + ": " + std::string(plan.recipe.no_claim));
  }
  if (!usual && run.sampling == Sampling::shuffled) {
    throw PrivacyError(
        "epsilon is '" + *given.epsilon +
        "', but nothing can be claimed for shuffled batches; use --sampling poisson, stream or "
        "balls-in-bins");
  }
  if (given.noise_multiplier || given.ledger_runs) return;
  plan.mechanism.noise_multiplier = noise_for(plan);
  run.calibrated = true;
  if (!plan.recipe.no_claim.empty()) plan.budget.reset();
}

// Chooses the noise with which so many runs like this one fit into the ledger of their data.
void choose_noise_of_ledger(const FlagTexts& given, RunOptions& run) {
  if (!given.ledger_runs) return;
  refuse_both(given.ledger_runs, "ledger-runs", given.noise_multiplier, "noise-multiplier");
  const auto planned = [&run](double noise) {
    Plan plan = run.plan;
    plan.mechanism.noise_multiplier = noise;
    return ledger_through(plan, {}, plan.steps);
  };
  constexpr std::uint64_t kMostRuns = 1'000'000;
  run.plan.mechanism.noise_multiplier =
      noise_for_runs(LifetimeFile(*given.ledger).read().terms(),
                     whole_number("ledger-runs", *given.ledger_runs, 1, kMostRuns), planned);
}

Step choose_eval_every(const FlagTexts& given, const DataSource& task) {
  if (!given.eval_every) return 0;
  if (!task.has_held_out()) {
    throw UserError("eval-every is '" + *given.eval_every + "', but " + task.in_words() +
                    (task.file ? " is not split: nothing is held out"
                               : " has nothing to learn; use it with click or click:large"));
  }
  return static_cast<Step>(whole_number("eval-every", *given.eval_every, 1, kLastStep));
}

std::uint64_t choose_eval_examples(const FlagTexts& given) {
  if (!given.eval_examples) return kAllExamples;
  if (!given.eval_every) {
    throw UserError("eval-examples is '" + *given.eval_examples +
                    "', but nothing is evaluated while training; it needs --eval-every");
  }
  constexpr std::uint64_t kMost = 1'000'000'000;
  return whole_number("eval-examples", *given.eval_examples, 1, kMost);
}

DenseRule choose_dense_rule(const FlagTexts& given, const Defaults& defaults) {
  return given.dense_optimizer ? choice("dense-optimizer", *given.dense_optimizer, kDenseRules)
                               : defaults.dense_rule;
}

// Noise that waits is drawn as one normal, which is what the missed steps would have added only if
// a step is linear in its gradient.
TableRule choose_table_rule(const FlagTexts& given, const Defaults& defaults,
                            const Recipe& recipe) {
  if (!given.table_optimizer) return defaults.table_rule;
  const TableRule rule = choice("table-optimizer", *given.table_optimizer, kTableRules);
  if (linear(rule) || recipe.noise == NoisePolicy::none) return rule;
  throw UserError("table-optimizer is '" + *given.table_optimizer + "', which is for --algorithm " +
                  "sgd alone; for " + std::string(recipe.name) +
                  " it must be sgd or momentum: a row waits for its noise, and what it missed can "
                  "be made up exactly only where steps are linear in the gradient; MLPs may have "
                  "it: --dense-optimizer " +
                  *given.table_optimizer);
}

std::uint64_t choose_examples_per_unit(const FlagTexts& given) {
  if (!protects_units(given)) {
    if (!given.examples_per_unit) return 1;
    throw UserError("examples-per-unit is '" + *given.examples_per_unit +
                    "', but every example is a unit of its own; it needs --privacy-unit COLUMN");
  }
  if (!given.examples_per_unit) return kUsualExamplesPerUnit;
  if (*given.examples_per_unit == "all") return kEveryExampleOfAUnit;
  return whole_number("examples-per-unit", *given.examples_per_unit, 1, kMaxExamplesPerUnit);
}

// Where gradients are clipped, logits grow too large.
bool choose_calibration(const FlagTexts& given, const RunOptions& run) {
  if (given.calibrate) {
    constexpr std::array<std::pair<std::string_view, bool>, 2> kOnOff = {
        {{"off", false}, {"on", true}}};
    const bool on = choice("calibrate", *given.calibrate, kOnOff);
    if (on && !run.task.learnable()) {
      throw UserError("calibrate is 'on', but " + run.task.in_words() + " has nothing to learn");
    }
    return on;
  }
  return run.task.file && run.plan.recipe.clips() && !run.plan.blocks;
}

void require_dense_features(const RunOptions& run) {
  if (!run.task.file) return;
  const std::size_t given = run.model.shape.dense_features();
  const std::size_t wanted = run.task.file->file->dense_features();
  if (given == wanted) return;
  throw UserError("the bottom MLP begins with " + std::to_string(given) + "; it must begin with " +
                  std::to_string(wanted) + ", the number of dense features of " + run.task.name);
}

template <class Parse>
double value_or(const Text& text, const char* name, Parse parse, double otherwise) {
  return text ? parse(name, *text) : otherwise;
}

}  // namespace

double RunOptions::examples_sent() const {
  if (!task.file || !task.file->units || sampling == Sampling::stream) return 1.0;
  const PrivacyUnits& units = *task.file->units;
  return static_cast<double>(units.sent(plan.examples_per_unit)) /
         static_cast<double>(units.size());
}

FlagTexts with_choices(FlagTexts given, const RunOptions& options) {
  given = with_blocks(std::move(given), options);
  if (!options.task.file) return given;
  const Plan& plan = options.plan;
  const auto keep = [](Text& flag, std::string_view value) {
    if (!flag) flag = value;
  };
  keep(given.lr, exact_text(plan.table_rate));
  keep(given.dense_lr, exact_text(plan.dense_rate));
  keep(given.dense_optimizer, dense_rule_name(plan.dense_rule));
  keep(given.clip_norm, exact_text(plan.mechanism.clip_norm));
  keep(given.calibrate, plan.calibrates_scores ? "on" : "off");
  keep(given.interaction, interaction_name(options.model.shape.interaction));
  if (protects_units(given)) {
    keep(given.examples_per_unit, plan.examples_per_unit == kEveryExampleOfAUnit
                                      ? "all"
                                      : std::to_string(plan.examples_per_unit));
  }
  return given;
}

RunOptions choose_run(const FlagTexts& given, Step taken) {
  return choose_run(given, recipe(given.algorithm.value_or(std::string(kRecipes.back().name))),
                    taken);
}

RunOptions choose_run(const FlagTexts& given, const Recipe& recipe, Step taken) {
  RunOptions run;
  const auto file = choose_data_file(given);
  const std::shared_ptr<const TrainingFile> data = file ? open_training_file(*file) : nullptr;
  run.initial = choose_initial_weights(given);
  run.model = choose_model(given, data.get(), run.initial ? run.initial->shape() : std::nullopt);
  run.task = choose_source(given, run.model, data);
  require_dense_features(run);
  const Defaults defaults =
      data ? defaults_for_file(data->population(), data->units ? Record::unit : Record::example,
                               recipe)
           : defaults_for(run.task.what, recipe);

  Plan& plan = run.plan;
  plan.recipe = recipe;
  if (run.initial) plan.initial = run.initial->model();
  plan.frozen = choose_frozen(given, run);
  choose_sampling(given, defaults, run);
  plan.steps = choose_steps(given, defaults, run, taken);
  plan.examples_per_unit = choose_examples_per_unit(given);
  plan.mechanism.clip_norm =
      value_or(given.clip_norm, "clip-norm", positive_or_inf, defaults.clip_norm);
  plan.mechanism.noise_multiplier = value_or(given.noise_multiplier, "noise-multiplier",
                                             zero_or_positive, defaults.noise_multiplier);
  plan.normals_per_sample = choose_normals_per_sample(given);
  plan.positive_weight = value_or(given.positive_weight, "positive-weight", positive, 1.0);
  plan.weight_decay = value_or(given.weight_decay, "weight-decay", zero_or_positive, 0.0);
  plan.rate_schedule = choose_rate_schedule(given, defaults, plan.steps);
  plan.noise_schedule = schedule_or_constant(given.noise_schedule);
  plan.clip_schedule = schedule_or_constant(given.clip_schedule);
  run.delta = choose_delta(given, defaults, run.task.examples());
  if (given.accountant) plan.accountant = accountant_from_name(*given.accountant);
  plan.table_rule = choose_table_rule(given, defaults, recipe);
  choose_blocks(given, run);
  plan.calibrates_scores = choose_calibration(given, run);
  choose_noise_of_ledger(given, run);
  choose_budget(given, defaults, run);
  plan.dense_rule = choose_dense_rule(given, defaults);
  const Rates rates = rates_for(defaults, plan);
  plan.table_rate = value_or(given.lr, "lr", positive, rates.tables);
  plan.dense_rate = value_or(given.dense_lr, "dense-lr", positive, rates.dense);
  plan.validate();

  run.performance = choose_performance(given);
  run.performance.read_ahead = data != nullptr;
  run.seed = choose_seed(given);
  run.eval_every = choose_eval_every(given, run.task);
  run.table_folder = choose_table_folder(given);
  require_trainable_there(recipe, run.table_folder);
  if (run.table_folder && plan.table_rule != TableRule::sgd) {
    throw UserError(
        "table-storage is 'file:" + *run.table_folder + "', but table-optimizer is '" +
        std::string(table_rule_name(plan.table_rule)) +
        "', whose state is as large as the tables and kept in memory; use --table-optimizer sgd, "
        "or --table-storage memory");
  }
  run.eval_examples = choose_eval_examples(given);
  run.cutoff = choose_cutoff(given, run.task.grouped());
  require_sound_beginning(given, run);
  return run;
}

}  // namespace lazydp::cli
