#include "lazydp/train/claim.h"

#include <cmath>
#include <sstream>

namespace lazydp {
namespace {

std::string why_none(const Trainer& trainer) {
  const Plan& plan = trainer.plan();
  if (!plan.recipe.no_claim.empty()) return std::string(plan.recipe.no_claim);
  if (plan.mechanism.noise_multiplier == 0.0) return "the noise multiplier is 0";
  if (!trainer.seed_is_secret()) return "the seed was fixed, so the noise can be predicted";
  if (!trainer.samples_by_poisson()) {
    return "batches of a fixed size are not Poisson samples, which the accountants assume";
  }
  return "";
}

std::string in_words(const Trainer& trainer) {
  const Mechanism& m = trainer.plan().mechanism;
  std::ostringstream out;
  out << "Poisson sampling rate " << m.sampling_rate << ", clip norm " << m.clip_norm
      << ", noise multiplier " << m.noise_multiplier << ", " << trainer.ledger().steps()
      << " steps; neighbours differ by adding or removing one example; the data-set size is "
         "treated as public; the released model is protected, intermediate states are not";
  return out.str();
}

}  // namespace

Claim claim(const Trainer& trainer, double delta, Accountant accountant) {
  Claim result{.delta = delta, .accountant = accountant, .because = why_none(trainer)};
  if (!result.because.empty()) return result;
  result.epsilon = epsilon(trainer.ledger(), delta, accountant);
  result.holds = std::isfinite(result.epsilon);
  result.because = result.holds ? in_words(trainer) : "no finite epsilon holds at this delta";
  return result;
}

}  // namespace lazydp
