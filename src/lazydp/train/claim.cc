#include "lazydp/train/claim.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "lazydp/data/privacy_units.h"
#include "lazydp/privacy/accountant.h"
#include "lazydp/privacy/bins/balls_in_bins.h"
#include "lazydp/privacy/composition.h"
#include "lazydp/privacy/rdp.h"
#include "lazydp/train/correlation_text.h"
#include "lazydp/train/plan.h"

namespace lazydp {

namespace {

// Returns the event if it is no step, but counts by which scores were calibrated.
const Gaussian* counts_of(const PrivacyEvent& event) {
  return std::get_if<Gaussian>(&event);
}

// Says by what else than steps the data was used.
std::string counts_in_words(const Ledger& ledger) {
  std::ostringstream out;
  for (const PrivacyEvent& event : ledger.events()) {
    const Gaussian* counts = counts_of(event);
    if (counts == nullptr) continue;
    out << ", and " << (counts->steps > 1 ? std::to_string(counts->steps) + " times " : "")
        << "counts of all scores with noise multiplier " << counts->noise_multiplier
        << ", which calibrated them";
  }
  return out.str();
}

std::uint64_t steps_of(const Ledger& ledger) {
  std::uint64_t steps = ledger.steps();
  for (const PrivacyEvent& event : ledger.events()) {
    if (const Gaussian* counts = counts_of(event)) steps -= counts->steps;
  }
  return steps;
}

// Describes the values that the events of a ledger's steps have: the only one, or "from LEAST to
// MOST".
std::string range(const Ledger& ledger, double (*value)(const PrivacyEvent&)) {
  double least = std::numeric_limits<double>::infinity();
  double most = 0.0;
  for (const PrivacyEvent& event : ledger.events()) {
    if (counts_of(event) != nullptr) continue;
    least = std::min(least, value(event));
    most = std::max(most, value(event));
  }
  std::ostringstream out;
  if (least < most) out << "from " << least << " to ";
  out << most;
  return out.str();
}

// Says how examples, or units, came to the steps of a run.
std::string sampling_in_words(const Trainer& trainer) {
  const Plan& plan = trainer.plan();
  std::ostringstream out;
  if (!plan.blocks) {
    out << "Poisson sampling rate " << range(trainer.ledger(), sampling_rate);
    return out.str();
  }
  const BlockRules& rules = *plan.blocks;
  const bool units = trainer.sampler().unit() != kExampleUnit;
  const char* const who = units ? "a unit" : "an example";
  if (rules.sampling == BlockSampling::balls_in_bins) {
    out << "balls in bins: " << who << " is in one secret step, drawn uniformly once, of every "
        << rules.separation;
    return out.str();
  }
  out << "batches in the order of the data: " << who << " takes part in ";
  if (rules.times == kAnyNumberOfTimes) {
    out << "one step of every " << rules.separation;
  } else {
    out << "at most " << rules.times << " steps, " << rules.separation << " or more apart";
  }
  return out.str();
}

// What was told of the data of blocks is part of what is claimed.
std::string declared_in_words(const Ledger& ledger) {
  const bool disjoint = std::ranges::any_of(ledger.events(), [](const PrivacyEvent& event) {
    const auto* block = std::get_if<CorrelatedGaussian>(&event);
    return block != nullptr && block->disjoint;
  });
  return disjoint ? "no example is in the data of two blocks of steps, as the user declares; " : "";
}

std::string neighbours_in_words(const Trainer& trainer) {
  const std::string unit = trainer.sampler().unit();
  if (!blanks_an_example(trainer.ledger())) {
    return "neighbours differ by adding or removing " + unit;
  }
  return "neighbours differ by " + unit +
         ", whose lines are blank in one of them while all others keep their places (zero-out)";
}

std::string in_words(const Trainer& trainer) {
  const Plan& plan = trainer.plan();
  const Mechanism& m = plan.mechanism;
  const bool units = trainer.sampler().unit() != kExampleUnit;
  std::ostringstream out;
  out << sampling_in_words(trainer) << ", clip norm " << m.clip_norm
      << (plan.clip_schedule.constant() ? "" : " (scheduled)") << ", noise multiplier "
      << range(trainer.ledger(), noise_multiplier)
      << (plan.correlation.independent() ? ""
                                         : ", noise correlated by " + in_words(plan.correlation))
      << ", " << steps_of(trainer.ledger()) << " steps" << counts_in_words(trainer.ledger()) << "; "
      << (units ? "a sampled unit sends " : "")
      << (units ? sent_in_words(plan.examples_per_unit) + "; " : std::string())
      << declared_in_words(trainer.ledger()) << neighbours_in_words(trainer)
      << "; the data-set size, " << std::llround(m.expected_batch / m.sampling_rate)
      << (units && trainer.sampler().sampling() != Sampling::stream ? " units" : " examples")
      << ", is treated as public; the released model is protected, intermediate states "
         "are not";
  if (const auto& initial = trainer.plan().initial) {
    out << "; it began with a model, " << in_words(*initial);
  }
  return out.str();
}

}  // namespace

std::string no_claim(const Plan& plan, bool seed_is_secret, Sampling sampling) {
  if (!plan.recipe.no_claim.empty()) return std::string(plan.recipe.no_claim);
  if (plan.mechanism.noise_multiplier == 0.0) return "the noise multiplier is 0";
  if (!seed_is_secret) return "the seed was fixed, so the noise can be predicted";
  if (sampling == Sampling::shuffled) {
    return "batches of a fixed size are not Poisson samples, which the accountants assume";
  }
  if (!plan.correlation.independent() && !plan.blocks) {
    return "what Poisson samples save is not known for noise that is correlated";
  }
  return "";
}

namespace {

std::string no_claim_now(const Trainer& trainer) {
  return no_claim(trainer.plan(), trainer.draws_in_secret(), trainer.sampler().sampling());
}

}  // namespace

std::string no_claim(const Trainer& trainer) {
  const std::string now = no_claim_now(trainer);
  return now.empty() ? trainer.no_claim_before() : now;
}

Claim claim(const Trainer& trainer, double delta) {
  const Accountant accountant = trainer.plan().accountant;
  Claim result{.delta = delta, .accountant = accountant, .because = no_claim(trainer)};
  if (!result.because.empty()) {
    if (no_claim_now(trainer).empty()) result.because = "of its earlier steps: " + result.because;
    return result;
  }
  result.epsilon = epsilon(trainer.ledger(), delta, accountant);
  result.holds = std::isfinite(result.epsilon);
  result.because = result.holds ? in_words(trainer) : "no finite epsilon holds at this delta";
  if (takes_sampling(trainer.ledger(), accountant)) {
    result.confidence = kMonteCarloConfidence;
    result.because += "; epsilon was computed by sampling, and is right with probability 1 - 1e-6";
  }
  return result;
}

namespace {

std::string in_words(const PrivateSearch& search) {
  std::ostringstream out;
  out << "; its hyper-parameters were chosen by a private search, which epsilon pays for: the best "
         "by a noisy score of a secret number of trials, "
      << mean_trials(search.trials) << " expected (truncated negative binomial, eta "
      << search.trials.eta << ", gamma " << search.trials.gamma
      << "), each of a candidate drawn from " << search.candidates
      << " of a public grid; noise multiplier of the score " << search.score_noise;
  return out.str();
}

}  // namespace

Claim claim_of_best(const Trainer& trainer, const PrivateSearch& search, double delta) {
  Claim result = claim(trainer, delta);
  if (!result.holds) return result;
  const std::vector<double> spent = rdp_curve(trainer.ledger());
  for (std::size_t i = 0; i < spent.size(); ++i) {
    if (spent[i] <= search.training.at(i)) continue;
    throw PrivacyError(
        "the model was trained with less noise than the search counted for a candidate; nothing "
        "can be claimed for it");
  }
  result.accountant = Accountant::rdp;
  result.epsilon = search_epsilon(search, delta);
  result.holds = std::isfinite(result.epsilon);
  result.because = result.holds ? result.because + in_words(search)
                                : "no finite epsilon holds for the search at this delta";
  return result;
}

double least_noise_in_ulps(const Plan& plan, float largest_first_weight) {
  double least = std::numeric_limits<double>::infinity();
  double variance = 0.0;
  for (Step t = 1; t <= plan.steps; ++t) {
    const double sigma = noise_multiplier(plan, t);
    const double clip = clip_norm(plan, t);
    const double rate = plan.table_rate * plan.rate_schedule.factor(t, plan.steps);
    const double std = sigma > 0.0 ? rate * sigma * clip / plan.mechanism.expected_batch : 0.0;
    if (std > 0.0) least = std::min(least, std);
    variance += std * std;
  }
  const float size = std::max(largest_first_weight, static_cast<float>(std::sqrt(variance)));
  const double ulp = std::nextafter(size, std::numeric_limits<float>::infinity()) - size;
  return least / ulp;
}

}  // namespace lazydp
