#pragma once
// Evidence from guesses about many canaries of one training run. Each canary was in the data with
// probability 1/2, independently, and the attacker guesses about those it is surest of.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lazydp/privacy/trade_off.h"

namespace lazydp {

struct OneRunGuesses {
  std::uint64_t canaries = 0;
  std::uint64_t guesses = 0;  // fixed before the scores were seen
  std::uint64_t correct = 0;
};

// Guesses "in" for the higher half of the scores that are guessed about, "out" for the lower half.
// `guesses` <= scores; ties are broken by position.
OneRunGuesses guess(std::span<const double> scores, const std::vector<bool>& in,
                    std::uint64_t guesses);

// Returns the largest probability with which a mechanism that satisfies `claim` lets any attacker
// be right so often: a p-value. Mahloujifar, Melis, Chaudhuri 2024; one_run.cc has the proof.
double one_run_p_value(const OneRunGuesses& made, const TradeOff& claim);

// Returns the fewest correct guesses with a p-value of at most alpha; nothing if even all are too
// few.
std::optional<std::uint64_t> correct_guesses_needed(std::uint64_t canaries, std::uint64_t guesses,
                                                    const TradeOff& claim, double alpha);

// Returns a lower bound on epsilon at `delta`, wrong with probability alpha at most, that assumes
// nothing of the trade-off curve. Steinke, Nasr, Jagielski 2023.
double one_run_epsilon(const OneRunGuesses& made, double delta, double alpha);

// The best design of an audit of so many canaries against a mechanism that is really `truth`, by a
// perfect attack. Computed without any data.
struct OneRunPlan {
  std::uint64_t guesses = 0;
  std::uint64_t needed = 0;  // correct guesses that refute the claim
  double power = 0.0;        // probability of so many; 0 if no number of them is enough
};
OneRunPlan plan_one_run(std::uint64_t canaries, const TradeOff& claim, const TradeOff& truth,
                        double alpha);

inline constexpr std::uint64_t kMostCanaries = 1 << 17;

// Returns the fewest canaries, to a few per cent, that have this power; nothing if kMostCanaries
// are too few.
std::optional<std::uint64_t> canaries_needed(const TradeOff& claim, const TradeOff& truth,
                                             double alpha, double power);

}  // namespace lazydp
