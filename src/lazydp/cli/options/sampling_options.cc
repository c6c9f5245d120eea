#include "lazydp/cli/options/sampling_options.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/random/cell.h"
#include "lazydp/train/correlation_text.h"

namespace lazydp::cli {

void refuse_both(const Text& a, const char* a_name, const Text& b, const char* b_name) {
  if (!a || !b) return;
  throw UserError(std::string(a_name) + " is '" + *a + "' and " + b_name + " is '" + *b +
                  "'; give one of the two");
}

bool protects_units(const FlagTexts& given) {
  return given.privacy_unit && *given.privacy_unit != "example";
}

namespace {

bool has_units(const RunOptions& run) {
  return run.task.file && run.task.file->units;
}

// Without noise there is no claim that needs Poisson sampling, and it is usual to read the data
// once an epoch: that learns a little more from as many steps.
Sampling sampling_of(const FlagTexts& given, const RunOptions& run) {
  if (!given.sampling) {
    const bool plain = run.plan.recipe.noise == NoisePolicy::none && !has_units(run);
    return plain ? Sampling::shuffled : Sampling::poisson;
  }
  const Sampling sampling = choice("sampling", *given.sampling, kSamplings);
  if (has_units(run) && sampling == Sampling::shuffled) {
    throw UserError(
        "sampling is 'shuffled'; units come to steps by poisson, stream or balls-in-bins");
  }
  return sampling;
}

// Returns the examples, or units, of which a step takes a batch. A stream takes lines, whoever's
// they are.
std::uint64_t drawn_from(const RunOptions& run) {
  if (run.sampling == Sampling::stream && run.task.file) return run.task.file->train->size();
  return run.task.examples();
}

// Returns the places of the data, with those of examples that are not trained on.
std::uint64_t places_of(const RunOptions& run) {
  return run.task.file ? run.task.file->file->places() : run.task.examples();
}

bool in_blocks(const RunOptions& run) {
  return run.sampling == Sampling::stream || run.sampling == Sampling::balls_in_bins;
}

std::uint64_t steps_of_an_epoch(const RunOptions& run) {
  if (run.sampling == Sampling::stream) return (places_of(run) - 1) / run.places_a_step + 1;
  const double steps = static_cast<double>(drawn_from(run)) / run.plan.mechanism.expected_batch;
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::round(steps)));
}

// Sampling rate and expected batch: each follows from the other and the public size of the data.
void choose_batch(const FlagTexts& given, const Defaults& defaults, RunOptions& run) {
  refuse_both(given.batch, "batch", given.sampling_rate, "sampling-rate");
  const std::uint64_t examples = drawn_from(run);
  Mechanism& mechanism = run.plan.mechanism;
  if (given.sampling_rate) {
    mechanism.sampling_rate = fraction("sampling-rate", *given.sampling_rate);
    mechanism.expected_batch = mechanism.sampling_rate * static_cast<double>(examples);
  } else {
    const bool in_order = run.sampling == Sampling::stream && defaults.stream_batch > 0;
    const std::uint64_t usual = in_order ? defaults.stream_batch : defaults.batch;
    const std::uint64_t batch =
        given.batch ? whole_number("batch", *given.batch, 1, examples) : std::min(usual, examples);
    mechanism.expected_batch = static_cast<double>(batch);
    mechanism.sampling_rate = mechanism.expected_batch / static_cast<double>(examples);
  }
  run.batch = static_cast<std::uint64_t>(std::max(1.0, std::round(mechanism.expected_batch)));
}

// Makes the batch one of which there is a whole number in an epoch, or one that is always as large.
void fit_batch(RunOptions& run) {
  Mechanism& mechanism = run.plan.mechanism;
  const auto examples = static_cast<double>(drawn_from(run));
  switch (run.sampling) {
    case Sampling::poisson: return;
    case Sampling::shuffled: mechanism.expected_batch = static_cast<double>(run.batch); break;
    case Sampling::stream: {
      const double share = mechanism.expected_batch / examples;
      const double places = share * static_cast<double>(places_of(run));
      run.places_a_step = static_cast<std::uint64_t>(std::max(1.0, std::round(places)));
      return;
    }
    case Sampling::balls_in_bins:
      mechanism.expected_batch = examples / static_cast<double>(steps_of_an_epoch(run));
      run.batch = static_cast<std::uint64_t>(std::round(mechanism.expected_batch));
      break;
  }
  mechanism.sampling_rate = mechanism.expected_batch / examples;
}

Step steps_of(double epochs, const RunOptions& run, Step taken = 0) {
  const double of_an_epoch =
      in_blocks(run) ? static_cast<double>(steps_of_an_epoch(run))
                     : static_cast<double>(run.task.examples()) / run.plan.mechanism.expected_batch;
  const double steps = std::max(1.0, std::round(epochs * of_an_epoch)) + static_cast<double>(taken);
  if (steps > static_cast<double>(kLastStep)) {
    throw UserError("epochs " + std::to_string(epochs) + " make " + std::to_string(steps) +
                    " steps; there can be at most " + std::to_string(kLastStep));
  }
  return static_cast<Step>(steps);
}

}  // namespace

void choose_sampling(const FlagTexts& given, const Defaults& defaults, RunOptions& run) {
  run.sampling = sampling_of(given, run);
  choose_batch(given, defaults, run);
  fit_batch(run);
}

// Counts from the steps that a run has taken, if --more-steps or --more-epochs is given.
Step choose_steps(const FlagTexts& given, const Defaults& defaults, const RunOptions& run,
                  Step taken) {
  refuse_both(given.steps, "steps", given.epochs, "epochs");
  refuse_both(given.more_steps, "more-steps", given.more_epochs, "more-epochs");
  const auto& [whole, whole_name] =
      given.steps ? std::pair(given.steps, "steps") : std::pair(given.epochs, "epochs");
  refuse_both(whole, whole_name, given.more_steps, "more-steps");
  refuse_both(whole, whole_name, given.more_epochs, "more-epochs");
  if (given.more_steps) {
    return taken +
           static_cast<Step>(whole_number("more-steps", *given.more_steps, 1, kLastStep - taken));
  }
  if (given.more_epochs) return steps_of(positive("more-epochs", *given.more_epochs), run, taken);
  if (given.steps) return static_cast<Step>(whole_number("steps", *given.steps, 1, kLastStep));
  if (given.epochs) return steps_of(positive("epochs", *given.epochs), run);
  // One pass in the order of time is what a stream is for.
  const double epochs = run.sampling == Sampling::stream ? 1.0 : defaults.epochs;
  return defaults.epochs > 0.0 ? steps_of(epochs, run) : defaults.steps;
}

namespace {

// Returns how often a unit takes part in the steps of a stream, and how soon again.
BlockRules rules_of_units(const FlagTexts& given, Step steps) {
  constexpr std::uint64_t kUsualParticipations = 4;
  BlockRules rules;
  rules.times = given.unit_participations
                    ? whole_number("unit-participations", *given.unit_participations, 1, kLastStep)
                    : kUsualParticipations;
  // As far apart as they can be if there are to be so many.
  rules.separation = given.unit_gap ? whole_number("unit-gap", *given.unit_gap, 1, kLastStep)
                                    : std::max<std::uint64_t>(1, steps / rules.times);
  return rules;
}

void require_units_in_stream(const FlagTexts& given, bool there) {
  if (there) return;
  const auto refuse_flag = [](const Text& text, const char* name) {
    if (!text) return;
    throw UserError(std::string(name) + " is '" + *text +
                    "', but it says which steps of a stream a unit takes part in; it needs "
                    "--sampling stream and --privacy-unit COLUMN");
  };
  refuse_flag(given.unit_participations, "unit-participations");
  refuse_flag(given.unit_gap, "unit-gap");
}

// Examples of which each is in one block alone: of units nobody can know that.
bool choose_disjoint(const FlagTexts& given, const RunOptions& run) {
  if (!given.disjoint_data || !truth("disjoint-data", *given.disjoint_data)) return false;
  if (!in_blocks(run) || has_units(run)) {
    throw PrivacyError(
        std::string("disjoint-data is given, which says that no example is in the "
                    "data of two blocks; it needs --sampling stream or "
                    "balls-in-bins") +
        (has_units(run) ? ", and examples as privacy units: a unit may come again" : ""));
  }
  return true;
}

// Noise is correlated by default where that is what the data's order is for.
std::string correlation_of(const FlagTexts& given, const RunOptions& run) {
  if (given.correlation) return *given.correlation;
  const bool can =
      traits_of(run.plan.recipe.noise).adds_all_noise() && run.plan.table_rule == TableRule::sgd;
  return run.sampling == Sampling::stream && can ? "lambda" : "independent";
}

}  // namespace

void choose_blocks(const FlagTexts& given, RunOptions& run) {
  Plan& plan = run.plan;
  const bool units_in_stream = run.sampling == Sampling::stream && has_units(run);
  require_units_in_stream(given, units_in_stream);
  const bool disjoint = choose_disjoint(given, run);
  const std::string correlation = correlation_of(given, run);
  if (!in_blocks(run)) {
    if (correlation == "independent") return;
    throw PrivacyError("correlation is '" + correlation + "', but sampling is '" +
                       std::string(sampling_name(run.sampling)) +
                       "': what is known about correlated noise is for examples that do not come "
                       "to steps anew each time; use --sampling stream or balls-in-bins");
  }
  BlockRules rules;
  if (units_in_stream) {
    rules = rules_of_units(given, plan.steps);
  } else {
    rules.separation = steps_of_an_epoch(run);
  }
  rules.sampling =
      run.sampling == Sampling::stream ? BlockSampling::stream : BlockSampling::balls_in_bins;
  rules.disjoint = disjoint;
  plan.blocks = rules;
  const auto planned = std::get<CorrelatedGaussian>(event_of(plan, plan.steps)).allowed;
  plan.correlation = parse_correlation(correlation, planned);
}

FlagTexts with_blocks(FlagTexts given, const RunOptions& run) {
  if (!run.plan.blocks) return given;
  const auto keep = [](Text& flag, const std::string& value) {
    if (!flag || flag == "lambda") flag = value;
  };
  keep(given.correlation, text_of(run.plan.correlation));
  if (run.sampling == Sampling::stream && has_units(run)) {
    keep(given.unit_participations, std::to_string(run.plan.blocks->times));
    keep(given.unit_gap, std::to_string(run.plan.blocks->separation));
  }
  return given;
}

}  // namespace lazydp::cli
