#include "lazydp/train/claim.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "lazydp/data/privacy_units.h"
#include "lazydp/privacy/rdp.h"
#include "lazydp/train/plan.h"

namespace lazydp {

namespace {

// Describes the values that a ledger's events have: the only one, or "from LEAST to MOST".
std::string range(const Ledger& ledger, double (*value)(const PrivacyEvent&)) {
  double least = std::numeric_limits<double>::infinity();
  double most = 0.0;
  for (const PrivacyEvent& event : ledger.events()) {
    least = std::min(least, value(event));
    most = std::max(most, value(event));
  }
  std::ostringstream out;
  if (least < most) out << "from " << least << " to ";
  out << most;
  return out.str();
}

std::string in_words(const Trainer& trainer) {
  const Mechanism& m = trainer.plan().mechanism;
  const std::string sampling = range(trainer.ledger(), sampling_rate);
  const std::string noise = range(trainer.ledger(), noise_multiplier);
  const bool units = trainer.sampler().unit() != kExampleUnit;
  std::ostringstream out;
  out << "Poisson sampling rate " << sampling << ", clip norm " << m.clip_norm
      << (trainer.plan().clip_schedule.constant() ? "" : " (scheduled)") << ", noise multiplier "
      << noise << ", " << trainer.ledger().steps() << " steps; "
      << (units ? "a sampled unit sends " : "")
      << (units ? sent_in_words(trainer.plan().examples_per_unit) + "; " : std::string())
      << "neighbours differ by adding or removing " << trainer.sampler().unit()
      << "; the data-set size, " << std::llround(m.expected_batch / m.sampling_rate)
      << (units ? " units" : " examples")
      << ", is treated as public; the released model is protected, intermediate states "
         "are not";
  if (const auto& initial = trainer.plan().initial) {
    out << "; it began with a model, " << in_words(*initial);
  }
  return out.str();
}

}  // namespace

std::string no_claim(const Plan& plan, bool seed_is_secret, bool poisson) {
  if (!plan.recipe.no_claim.empty()) return std::string(plan.recipe.no_claim);
  if (plan.mechanism.noise_multiplier == 0.0) return "the noise multiplier is 0";
  if (!seed_is_secret) return "the seed was fixed, so the noise can be predicted";
  if (!poisson) {
    return "batches of a fixed size are not Poisson samples, which the accountants assume";
  }
  return "";
}

namespace {

std::string no_claim_now(const Trainer& trainer) {
  return no_claim(trainer.plan(), trainer.draws_in_secret(), trainer.sampler().poisson());
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
    const double sigma = event_of(plan, t).noise_multiplier;
    const double clip = plan.mechanism.clip_norm * plan.clip_schedule.factor(t, plan.steps);
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
