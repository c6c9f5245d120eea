#include "lazydp/privacy/one_run.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lazydp/base/error.h"
#include "lazydp/privacy/binomial.h"

namespace lazydp {
namespace {

// Returns whether a mechanism that satisfies `claim` can be right `correct` times or more with
// probability `p`.
//
// Let p_i be the probability of i correct among g guesses, of m canaries. Pick a canary at random:
// "it is guessed rightly, and i are right in all" has probability p_i i/m. With its membership
// flipped and everything else as it was, the same outputs mean "it is guessed wrongly, and i - 1
// are right": p_{i-1} (g - i + 1)/m. For every fixed membership of the others the claim bounds the
// one by the other, and least_chance is convex, so with
//   R_i = sum over l >= i of p_l l/m,   H_i = sum over l >= i of p_l (g - l)/m:
//   H_{i-1} >= least_chance(R_i),  and  R_i + H_i = (g/m) P(i or more are right) <= g/m.
// The least mass that obeys this has all of p at `correct` and, below, each H as small as allowed:
// more anywhere makes every later R and H larger. If it exceeds 1, so many are impossible.
bool possible(const OneRunGuesses& made, double p, const TradeOff& claim) {
  const auto g = static_cast<double>(made.guesses);
  const double whole = g / static_cast<double>(made.canaries);
  double right = p * whole * static_cast<double>(made.correct) / g;
  double wrong = p * whole - right;
  for (std::uint64_t i = made.correct; i-- > 0;) {
    const double next = std::max(wrong, claim.least_chance(right));
    const auto k = static_cast<double>(i);
    right += k / (g - k) * (next - wrong);
    wrong = next;
    if (right + wrong > whole) return false;
  }
  return true;
}

// Returns whether so many correct guesses happen with probability alpha at most under (epsilon,
// delta). Steinke, Nasr, Jagielski 2023, Theorem 5.2: dominated by a binomial, but for a term in
// delta.
bool unlikely(const OneRunGuesses& made, double epsilon, double delta, double alpha) {
  const double rate = 1 / (1 + std::exp(-epsilon));
  const double pure = binomial_tail(made.correct, made.guesses, rate);
  double steepest = 0, sum = 0;
  for (std::uint64_t i = 1; i <= made.correct; ++i) {
    sum = binomial_tail(made.correct - i, made.guesses, rate) - pure;
    steepest = std::max(steepest, sum / static_cast<double>(i));
    if ((1 - pure) / static_cast<double>(i) < steepest) break;  // the sum is 1 - pure at most
  }
  return pure + 2 * static_cast<double>(made.canaries) * delta * steepest <= alpha;
}

// Returns how often a perfect attack is right about the share of canaries that it is surest of:
// those whose score is above a threshold, of which half as many of the ones outside are than of
// those inside, and by symmetry those below.
double accuracy(const TradeOff& truth, double share) {
  double low = 0, high = 1;  // the rate of false alarms
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (middle + 1 - truth.least_miss(middle) > share ? high : low) = middle;
  }
  const double hits = 1 - truth.least_miss(high);
  return hits / (high + hits);
}

}  // namespace

OneRunGuesses guess(std::span<const double> scores, const std::vector<bool>& in,
                    std::uint64_t guesses) {
  check(scores.size() == in.size() && guesses <= scores.size(), "guesses about the canaries");
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return scores[i]; });
  OneRunGuesses made{.canaries = scores.size(), .guesses = guesses};
  const std::uint64_t low = guesses / 2;
  for (std::uint64_t i = 0; i < low; ++i) made.correct += in[order[i]] ? 0 : 1;
  for (std::uint64_t i = 0; i < guesses - low; ++i) {
    made.correct += in[order[order.size() - 1 - i]] ? 1 : 0;
  }
  return made;
}

double one_run_p_value(const OneRunGuesses& made, const TradeOff& claim) {
  check(made.correct <= made.guesses && made.guesses <= made.canaries, "guesses about canaries");
  if (made.guesses == 0) return 1;
  double low = std::log(1e-12), high = 0;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (possible(made, std::exp(middle), claim) ? low : high) = middle;
  }
  return std::exp(high);
}

std::optional<std::uint64_t> correct_guesses_needed(std::uint64_t canaries, std::uint64_t guesses,
                                                    const TradeOff& claim, double alpha) {
  const auto refutes = [&](std::uint64_t correct) {
    return !possible({canaries, guesses, correct}, alpha, claim);
  };
  if (guesses == 0 || !refutes(guesses)) return {};
  std::uint64_t low = 0, high = guesses;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (refutes(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

double one_run_epsilon(const OneRunGuesses& made, double delta, double alpha) {
  if (made.guesses == 0 || !unlikely(made, 0, delta, alpha)) return 0;
  double low = 0, high = 1;
  while (unlikely(made, high, delta, alpha) && high < 64) high *= 2;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (unlikely(made, middle, delta, alpha) ? low : high) = middle;
  }
  return low;
}

OneRunPlan plan_one_run(std::uint64_t canaries, const TradeOff& claim, const TradeOff& truth,
                        double alpha) {
  OneRunPlan best{.guesses = canaries};
  for (double share = 1; share * static_cast<double>(canaries) >= 8; share /= 2) {
    const auto guesses = static_cast<std::uint64_t>(share * static_cast<double>(canaries));
    const auto needed = correct_guesses_needed(canaries, guesses, claim, alpha);
    if (!needed) continue;
    const double power = binomial_tail(*needed, guesses, accuracy(truth, share));
    if (power > best.power || best.power == 0) best = {guesses, *needed, power};
    if (power > 1 - 1e-6) break;  // fewer guesses need a better attack
  }
  return best;
}

std::optional<std::uint64_t> canaries_needed(const TradeOff& claim, const TradeOff& truth,
                                             double alpha, double power) {
  const auto enough = [&](std::uint64_t canaries) {
    return plan_one_run(canaries, claim, truth, alpha).power >= power;
  };
  std::uint64_t high = 8;
  while (!enough(high)) {
    if (high >= kMostCanaries) return {};
    high *= 2;
  }
  std::uint64_t low = high / 2;
  while (high - low > 1 + high / 32) {
    const std::uint64_t middle = low + (high - low) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace lazydp
