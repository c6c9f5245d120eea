#include "lazydp/cli/verbs/privacy_question.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "lazydp/base/text/number_text.h"
#include "lazydp/cli/options/privacy_limits.h"
#include "lazydp/cli/options/sampling_options.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/cli/verbs/privacy_block.h"
#include "lazydp/privacy/calibration.h"

namespace lazydp::cli {
namespace {

constexpr double kDefaultDelta = 1e-6;

double choose_rate(const FlagTexts& given) {
  refuse_both(given.batch, "batch", given.sampling_rate, "sampling-rate");
  if (!given.batch) {
    return fraction("sampling-rate", needed(given.sampling_rate, "sampling-rate",
                                            "0.01, or --batch with --examples"));
  }
  const std::uint64_t examples = choose_examples(given);
  const std::uint64_t batch = whole_number("batch", *given.batch, 1, examples);
  return static_cast<double>(batch) / static_cast<double>(examples);
}

std::uint64_t choose_steps(const FlagTexts& given, double sampling_rate, std::uint64_t least) {
  refuse_both(given.steps, "steps", given.epochs, "epochs");
  if (!given.epochs) {
    return whole_number("steps", needed(given.steps, "steps", "1000, or --epochs"), least,
                        kMostSteps);
  }
  const double steps = std::round(positive("epochs", *given.epochs) / sampling_rate);
  if (!(steps <= static_cast<double>(kMostSteps))) {
    refuse("epochs", *given.epochs,
           "such that there are at most " + std::to_string(kMostSteps) + " steps");
  }
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(steps));
}

// Returns a delta below one in the number of examples, if that is known.
double choose_delta(const FlagTexts& given) {
  if (!given.delta) {
    if (!given.examples) return kDefaultDelta;
    return std::min(kDefaultDelta, 0.9 / static_cast<double>(choose_examples(given)));
  }
  const auto delta = number(*given.delta);
  if (!delta || !(*delta > 0.0 && *delta < 1.0)) {
    refuse("delta", *given.delta, "above 0 and below 1, for example 1e-6");
  }
  if (given.examples) require_small_delta(given, *delta, choose_examples(given));
  return *delta;
}

std::vector<Accountant> choose_accountants(const FlagTexts& given) {
  using Choices = std::vector<Accountant>;
  const std::string name = given.accountant.value_or("pld");
  if (name == "both") return {Accountant::pld, Accountant::rdp};
  if (name == "pld") return Choices{Accountant::pld};
  if (name == "rdp") return Choices{Accountant::rdp};
  refuse("accountant", name, "rdp, pld or both");
}

}  // namespace

Ledger PrivacyQuestion::ledger() const {
  Ledger ledger;
  if (block) {
    CorrelatedGaussian event = *block;
    event.noise_multiplier = noise_multiplier;
    event.steps = steps;
    ledger.record(PrivacyEvent(event));
  } else {
    ledger.record({sampling_rate, noise_multiplier, steps});
  }
  return ledger;
}

PrivacyQuestion PrivacyQuestion::with_steps(std::uint64_t so_many) const {
  PrivacyQuestion other = *this;
  other.steps = so_many;
  if (block) {
    other.block->allowed.steps = so_many;
    other.block->allowed.times = most_participations(block->allowed, so_many);
  }
  return other;
}

PrivacyQuestion choose_question(const FlagTexts& given, Unknown unknown) {
  PrivacyQuestion question;
  question.accountants = choose_accountants(given);
  const std::optional<BlockSampling> sampling = choose_block_sampling(given);
  if (sampling) {
    std::tie(question.block, question.steps) =
        choose_block(given, *sampling, unknown == Unknown::steps ? Asked::steps : Asked::other);
  } else {
    question.sampling_rate = choose_rate(given);
  }
  if (unknown == Unknown::noise) {
    refuse_answer(given.noise_multiplier, "noise-multiplier");
  } else {
    question.noise_multiplier = zero_or_positive(
        "noise-multiplier", needed(given.noise_multiplier, "noise-multiplier", "1"));
  }
  if (sampling) {
    // Its steps were chosen with it.
  } else if (unknown == Unknown::steps) {
    refuse_answer(given.steps, "steps");
    refuse_answer(given.epochs, "epochs");
  } else {
    const bool nothing_costs_nothing = unknown != Unknown::noise;
    question.steps = choose_steps(given, question.sampling_rate, nothing_costs_nothing ? 0 : 1);
  }
  if (unknown == Unknown::epsilon) {
    refuse_answer(given.epsilon, "epsilon");
  } else {
    const std::string& text = needed(given.epsilon, "epsilon", "3");
    question.epsilon =
        unknown == Unknown::delta ? zero_or_positive("epsilon", text) : positive("epsilon", text);
  }
  if (unknown == Unknown::delta) {
    refuse_answer(given.delta, "delta");
  } else {
    question.delta = choose_delta(given);
  }
  return question;
}

Json json_of_mechanism(const PrivacyQuestion& question) {
  if (question.block)
    return json_of_block(*question.block, question.noise_multiplier, question.steps);
  return {{"noise_multiplier", question.noise_multiplier},
          {"sampling_rate", question.sampling_rate},
          {"steps", question.steps}};
}

std::string mechanism_in_words(const PrivacyQuestion& question) {
  const std::string steps = with_commas(static_cast<double>(question.steps)) +
                            (question.steps == 1 ? " step, " : " steps, ");
  if (question.block) {
    return steps + block_in_words(*question.block, question.noise_multiplier, question.steps) +
           "; the size of the data is treated as public";
  }
  return steps + "Poisson sampling rate " + shortest(question.sampling_rate) +
         ", noise multiplier " + rounded_up(question.noise_multiplier, 6) +
         "; neighbours differ by adding or removing one example; the size of the data is treated "
         "as public";
}

}  // namespace lazydp::cli
