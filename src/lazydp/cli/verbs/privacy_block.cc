#include "lazydp/cli/verbs/privacy_block.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lazydp/base/error.h"
#include "lazydp/base/text/number_text.h"
#include "lazydp/cli/options/sampling_options.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/privacy/bins/balls_in_bins.h"
#include "lazydp/privacy/correlated_noise.h"
#include "lazydp/train/correlation_text.h"

namespace lazydp::cli {

const std::string& needed(const Text& text, const char* flag, const char* example) {
  if (text) return *text;
  throw UserError(std::string(flag) + " is missing; give it, for example --" + flag + " " +
                  example);
}

void refuse_answer(const Text& text, const char* flag) {
  if (!text) return;
  throw UserError(std::string(flag) + " is '" + *text +
                  "', but it is what was asked for; leave --" + flag + " out");
}

std::uint64_t choose_examples(const FlagTexts& given) {
  return whole_number("examples", needed(given.examples, "examples", "200000"), 1,
                      std::numeric_limits<std::uint64_t>::max());
}

namespace {

bool is_correlated(const FlagTexts& given) {
  return given.correlation && *given.correlation != "independent";
}

bool counts_units(const FlagTexts& given) {
  return given.unit_participations || given.unit_gap;
}

void refuse_units(const FlagTexts& given, const std::string& why) {
  const bool participations = given.unit_participations.has_value();
  throw UserError(std::string(participations ? "unit-participations" : "unit-gap") + " is '" +
                  *(participations ? given.unit_participations : given.unit_gap) + "', but " + why);
}

}  // namespace

std::optional<BlockSampling> choose_block_sampling(const FlagTexts& given) {
  const std::string sampling = given.sampling.value_or(is_correlated(given) ? "stream" : "poisson");
  if (sampling == "stream") return BlockSampling::stream;
  if (counts_units(given)) {
    refuse_units(given,
                 "it says which steps of a stream a unit takes part in; use --sampling stream");
  }
  if (sampling == "balls-in-bins") return BlockSampling::balls_in_bins;
  if (sampling != "poisson") refuse("sampling", sampling, "poisson, stream or balls-in-bins");
  if (is_correlated(given)) {
    throw UserError("correlation is '" + *given.correlation +
                    "' and sampling is 'poisson', but what Poisson samples save is not known for "
                    "noise that is correlated over steps; use --sampling stream or balls-in-bins");
  }
  return std::nullopt;
}

namespace {

// Returns the steps of one pass over the data; nothing if only those of the run are given.
std::optional<std::uint64_t> choose_pass(const FlagTexts& given) {
  if (given.sampling_rate) {
    throw UserError("sampling-rate is '" + *given.sampling_rate +
                    "', but nothing is drawn anew for a step; give --batch with --examples, or "
                    "--steps");
  }
  if (!given.batch) return std::nullopt;
  const std::uint64_t examples = choose_examples(given);
  const std::uint64_t batch = whole_number("batch", *given.batch, 1, examples);
  return (examples - 1) / batch + 1;
}

std::uint64_t steps_in_epochs(const std::string& epochs, std::uint64_t pass) {
  const double steps =
      std::max(1.0, std::round(positive("epochs", epochs) * static_cast<double>(pass)));
  if (!(steps <= static_cast<double>(kMostBlockSteps))) {
    refuse("epochs", epochs,
           "such that there are at most " + std::to_string(kMostBlockSteps) + " steps");
  }
  return static_cast<std::uint64_t>(steps);
}

struct StepsAndPass {
  std::uint64_t steps, pass;
};

// The run is so many steps, in one pass or in so many epochs; or its steps follow from the epochs.
StepsAndPass choose_steps_and_pass(const FlagTexts& given) {
  const std::optional<std::uint64_t> pass = choose_pass(given);
  if (pass && given.epochs) {
    refuse_both(given.steps, "steps", given.epochs, "epochs");
    return {steps_in_epochs(*given.epochs, *pass), *pass};
  }
  const std::uint64_t steps = whole_number(
      "steps", needed(given.steps, "steps", "1000, or --epochs with --batch and --examples"), 1,
      kMostBlockSteps);
  if (pass) return {steps, *pass};
  const std::uint64_t epochs = given.epochs ? whole_number("epochs", *given.epochs, 1, steps) : 1;
  if (steps % epochs != 0)
    refuse("epochs", *given.epochs, "a divisor of the " + *given.steps + " steps");
  return {steps, steps / epochs};
}

// Says who may take part when: an example in one step of every pass, a unit as the flags say; by
// default as far apart as four participations can be.
Participation choose_participation(const FlagTexts& given, std::uint64_t steps,
                                   std::uint64_t pass) {
  const auto capped = [steps](std::uint64_t separation, std::uint64_t times) {
    const Participation allowed = {steps, separation, times};
    return Participation{steps, separation, most_participations(allowed, steps)};
  };
  if (!counts_units(given)) return capped(pass, steps);
  constexpr std::uint64_t kUsualParticipations = 4;
  const std::uint64_t times =
      given.unit_participations
          ? whole_number("unit-participations", *given.unit_participations, 1, kMostBlockSteps)
          : kUsualParticipations;
  const std::uint64_t gap = given.unit_gap
                                ? whole_number("unit-gap", *given.unit_gap, 1, kMostBlockSteps)
                                : std::max<std::uint64_t>(1, steps / times);
  return capped(gap, times);
}

}  // namespace

std::pair<CorrelatedGaussian, std::uint64_t> choose_block(const FlagTexts& given,
                                                          BlockSampling sampling, Asked asked) {
  const bool stream = sampling == BlockSampling::stream;
  const std::string correlation = given.correlation.value_or(stream ? "lambda" : "independent");
  CorrelatedGaussian block{.sampling = sampling};
  StepsAndPass run = {0, 0};
  if (asked == Asked::steps) {
    refuse_answer(given.steps, "steps");
    refuse_answer(given.epochs, "epochs");
    needed(given.batch, "batch", "2048, with --examples: they make the steps of a pass");
    if (correlation == "lambda") {
      throw UserError(
          "correlation is 'lambda', the best one for the steps, but these are asked for; give its "
          "value, for example lambda:0.9");
    }
    run.pass = *choose_pass(given);
    block.allowed = choose_participation(given, kMostBlockSteps, run.pass);
  } else {
    run = choose_steps_and_pass(given);
    block.allowed = choose_participation(given, run.steps, run.pass);
  }
  const Correlation chosen = parse_correlation(correlation, block.allowed);
  block.bands.assign(chosen.bands().begin(), chosen.bands().end());
  return {block, run.steps};
}

namespace {

double noise_left(const CorrelatedGaussian& block, double noise_multiplier, std::uint64_t steps) {
  return noise_multiplier * accumulated_noise(block.bands, std::max<std::uint64_t>(1, steps));
}

std::string sampling_in_words(const CorrelatedGaussian& block) {
  const auto in_steps = [](std::uint64_t n) {
    return with_commas(static_cast<double>(n)) + (n == 1 ? " step" : " steps");
  };
  const Participation& allowed = block.allowed;
  if (block.sampling == BlockSampling::balls_in_bins) {
    return "balls in bins: an example is in one secret step of every " +
           with_commas(static_cast<double>(allowed.separation)) +
           " (computed by sampling, right with probability 1 - 1e-6)";
  }
  const std::string apart =
      allowed.times > 1 ? ", " + in_steps(allowed.separation) + " apart or more" : "";
  return "in the order of the data: an example is in " + in_steps(allowed.times) + " at most" +
         apart;
}

}  // namespace

Json json_of_block(const CorrelatedGaussian& block, double noise_multiplier, std::uint64_t steps) {
  Json json = {{"noise_multiplier", noise_multiplier},
               {"sampling", block_sampling_name(block.sampling)},
               {"correlation", text_of(Correlation(block.bands))},
               {"steps", steps},
               {"separation", block.allowed.separation},
               {"participations", block.allowed.times},
               {"sensitivity", sensitivity(block.bands, block.allowed)},
               {"accumulated_noise", noise_left(block, noise_multiplier, steps)}};
  if (block.sampling == BlockSampling::balls_in_bins) json["confidence"] = kMonteCarloConfidence;
  return json;
}

std::string block_in_words(const CorrelatedGaussian& block, double noise_multiplier,
                           std::uint64_t steps) {
  return sampling_in_words(block) + "; correlation " + text_of(Correlation(block.bands)) +
         ", noise multiplier " + rounded_up(noise_multiplier, 6) + ", sensitivity " +
         rounded_up(sensitivity(block.bands, block.allowed), 5) + "; " +
         rounded_up(noise_left(block, noise_multiplier, steps), 5) +
         " clip norms of noise are left in the sum of the steps (root mean square); neighbours "
         "differ by one example, whose line is blank in one of them (zero-out)";
}

}  // namespace lazydp::cli
