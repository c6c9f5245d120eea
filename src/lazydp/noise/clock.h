#pragma once
// The variance clock: how much noise, and how much weight decay, any run of steps owes a weight.

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "lazydp/base/types.h"

namespace lazydp {

// What a weight that only waits goes through: w <- shrink * w + N(0, variance).
struct Owed {
  double shrink = 1.0;
  double variance = 0.0;

  bool nothing() const { return shrink == 1.0 && variance == 0.0; }
};

// The one after the other. Associative, and free of subtraction: nothing cancels, however fast the
// learning rate decays.
inline Owed then(const Owed& first, const Owed& second) {
  return {first.shrink * second.shrink,
          second.shrink * second.shrink * first.variance + second.variance};
}

// Step t moves a weight by w <- shrink(t) * w - step_size(t) * (sum of gradients + noise of std
// noise_std(t)). The clock remembers the two numbers that late noise depends on, and composes them
// over any run of steps in constant time: blocks of 64 steps, with a disjoint sparse table over
// blocks (prefixes and suffixes around every power of two), 32 bytes a step.
class VarianceClock {
 public:
  // Makes room for so many steps, so that opening them allocates nothing.
  void reserve(Step steps);

  // Opens the next step and returns its number, from 1. `step_size` is learning rate / expected
  // batch, `noise_std` the standard deviation of the noise on the sum, `shrink` = 1 - learning rate
  // * weight decay, in (0, 1].
  Step open(double step_size, double noise_std, double shrink);

  // Makes the clock one that has opened these steps, for who goes on from a checkpoint; entry i is
  // step i + 1. The open step's size is not known: open() comes before the next gradient.
  void restore(std::span<const Owed> steps);
  std::span<const Owed> steps() const { return std::span(steps_).subspan(1); }

  Step now() const { return static_cast<Step>(steps_.size() - 1); }

  // What step t alone owes.
  const Owed& at(Step t) const { return steps_[t]; }

  // A row that waits keeps its weight as it was `after` some step, and is shrunk by all later steps
  // when it settles. A gradient of the step that is open would be shrunk with it, but should not
  // be: it is divided by that step's shrink beforehand.
  float gradient_scale() const { return static_cast<float>(step_size_ / steps_.back().shrink); }

  // What steps after + 1, …, through owe.
  Owed over(Step after, Step through) const;

 private:
  friend class Debts;
  void append(const Owed& owed);
  static constexpr std::size_t kBlock = 64;

  void close_block();
  Owed blocks(std::size_t first, std::size_t last) const;

  double step_size_ = 0.0;
  std::vector<Owed> steps_ = {Owed{}};     // [t]; entry 0 stands for "before training"
  std::vector<Owed> tails_;                // [t]: from t to the end of its block, once complete
  std::vector<std::vector<Owed>> levels_;  // [k][block]
};

// The same question for many rows at one moment: what does a row owe through `through`?
class Debts {
 public:
  Debts(const VarianceClock& clock, Step through);

  Step through() const { return through_; }
  const Owed& at(Step t) const { return clock_.at(t); }

  // A row settled through `after` <= through.
  Owed since(Step after) const {
    const std::size_t first = std::size_t{after} + 1;
    if (first >= block_start_) return recent_[first - block_start_];
    const std::size_t block = first / VarianceClock::kBlock;
    Owed owed = clock_.tails_[first];
    if (block + 1 < last_block_) owed = then(owed, clock_.blocks(block + 1, last_block_ - 1));
    return then(owed, recent_[0]);
  }

 private:
  const VarianceClock& clock_;
  Step through_;
  std::size_t last_block_;
  std::size_t block_start_;
  std::array<Owed, VarianceClock::kBlock + 1> recent_;  // from block_start_ + i through `through`
};

}  // namespace lazydp
