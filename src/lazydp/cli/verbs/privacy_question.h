#pragma once
// The question of a `lazydp privacy` command: a mechanism and a budget with one unknown.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lazydp/base/text/json.h"
#include "lazydp/cli/flags.h"
#include "lazydp/privacy/accountant.h"
#include "lazydp/privacy/ledger.h"

namespace lazydp::cli {

enum class Unknown : std::uint8_t { epsilon, noise, steps, delta };

// The unknown's field is 0 until it is solved.
struct PrivacyQuestion {
  double sampling_rate = 0.0;  // of Poisson sampling
  std::optional<CorrelatedGaussian>
      block;  // instead: what is known of it; noise and steps are below
  double noise_multiplier = 0.0;
  std::uint64_t steps = 0;
  double epsilon = 0.0;
  double delta = 0.0;
  std::vector<Accountant> accountants;  // one or two; the tight one first

  Ledger ledger() const;
  // Returns the question with so many steps, all of which a block may have.
  PrivacyQuestion with_steps(std::uint64_t so_many) const;
};

// Throws UserError for flags that are missing or invalid, or that give the unknown itself.
PrivacyQuestion choose_question(const FlagTexts& given, Unknown unknown);

// Returns what the answer's JSON says of the mechanism.
Json json_of_mechanism(const PrivacyQuestion& question);

// Returns, for example, "120 steps, Poisson sampling rate 0.01, noise multiplier 0.7; neighbours
// differ by ..."
std::string mechanism_in_words(const PrivacyQuestion& question);

}  // namespace lazydp::cli
