// lazydp privacy epsilon|noise|steps|delta: computes a mechanism's cost, or what a budget allows.

#include <cmath>
#include <functional>

#include "lazydp/base/error.h"
#include "lazydp/base/text/number_text.h"
#include "lazydp/cli/options/privacy_limits.h"
#include "lazydp/cli/output.h"
#include "lazydp/cli/verbs/privacy_question.h"
#include "lazydp/cli/verbs/verbs.h"
#include "lazydp/privacy/calibration.h"

namespace lazydp::cli {
namespace {

constexpr const char* kNoNoise = "without noise no finite epsilon holds";
constexpr const char* kNoEpsilon = "no finite epsilon can be shown at this delta";

// The question with its unknown found by one accountant. Epsilon is the mechanism's resulting cost,
// which may be a little less than the budget that was given.
using Answer = PrivacyQuestion;
using Solve = std::function<Answer(const PrivacyQuestion&, Accountant)>;

std::string reason(const Answer& answer) {
  return answer.noise_multiplier == 0.0 ? kNoNoise : kNoEpsilon;
}

std::string sentence(const Answer& answer, Accountant accountant) {
  const std::string epsilon = std::isfinite(answer.epsilon)
                                  ? "epsilon " + rounded_up(answer.epsilon, 5)
                                  : "epsilon infinite (" + reason(answer) + ")";
  return epsilon + " at delta " + rounded_up(answer.delta, 5) + " by the " +
         std::string(accountant_name(accountant)) + " accountant: " + mechanism_in_words(answer) +
         ".\n";
}

Json json_of(const Answer& answer, Accountant accountant) {
  Json json = {{"epsilon", answer.epsilon}, {"delta", answer.delta}};
  json.update(json_of_mechanism(answer));
  json["accountant"] = accountant_name(accountant);
  if (!std::isfinite(answer.epsilon)) {
    json["epsilon"] = nullptr;  // JSON has no infinity
    json["reason"] = reason(answer);
  }
  return json;
}

// Prints the first accountant's answer in full, and the other's beside it.
void answer(const FlagTexts& given, Unknown unknown, const Solve& solve) {
  if (given.svg) throw UserError("svg is '" + *given.svg + "'; only lazydp privacy curve draws");
  const PrivacyQuestion question = choose_question(given, unknown);
  const Output output(given);
  std::string text;
  Json json;
  for (const Accountant accountant : question.accountants) {
    const Answer found = solve(question, accountant);
    if (json.is_null()) warn_of_large_epsilon(found.epsilon);
    text += sentence(found, accountant);
    const Json numbers = json_of(found, accountant);
    if (json.is_null()) {
      json = numbers;
    } else {
      json["beside"] = numbers;
    }
  }
  if (std::ostream* out = output.report()) *out << text;
  output.write(json);
}

Answer with_cost(Answer answer, Accountant accountant) {
  answer.epsilon = epsilon(answer.ledger(), answer.delta, accountant);
  return answer;
}

}  // namespace

void privacy_epsilon(const FlagTexts& given) {
  answer(given, Unknown::epsilon, with_cost);
}

void privacy_noise(const FlagTexts& given) {
  answer(given, Unknown::noise, [](Answer found, Accountant accountant) {
    const auto ledger = [&found](double noise) {
      Answer with_noise = found;
      with_noise.noise_multiplier = noise;
      return with_noise.ledger();
    };
    found.noise_multiplier = noise_for_budget({found.epsilon, found.delta}, ledger, accountant);
    return with_cost(found, accountant);
  });
}

void privacy_steps(const FlagTexts& given) {
  answer(given, Unknown::steps, [](Answer found, Accountant accountant) {
    const std::uint64_t most = found.block ? kMostBlockSteps : kMostSteps;
    const auto ledger = [&found](std::uint64_t steps) { return found.with_steps(steps).ledger(); };
    found = found.with_steps(max_steps({found.epsilon, found.delta}, ledger, most, accountant));
    if (found.steps >= most) {
      throw UserError("epsilon is " + shortest(found.epsilon) + ", which pays for all " +
                      with_commas(static_cast<double>(most)) +
                      " steps that a run can have, and for more: give a smaller one, or less "
                      "noise");
    }
    return with_cost(found, accountant);
  });
}

void privacy_delta(const FlagTexts& given) {
  answer(given, Unknown::delta, [](Answer found, Accountant accountant) {
    found.delta = delta(found.ledger(), found.epsilon, accountant);
    return found;
  });
}

}  // namespace lazydp::cli
