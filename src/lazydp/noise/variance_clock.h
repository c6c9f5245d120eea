#pragma once
// The variance clock: how much noise, and how much weight decay, any run of steps owes a weight.

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "lazydp/base/types.h"
#include "lazydp/noise/step_ranges.h"

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

// The same as kernels take it: w <- shrink * w + std * N(0, 1).
struct Due {
  float shrink;
  float std;
};

inline Due due(const Owed& owed) {
  return {static_cast<float>(owed.shrink), static_cast<float>(std::sqrt(owed.variance))};
}

// The same question for many rows at one moment: what does a row owe through `through`? Most have
// waited for a few steps; for these the answer is at hand, roots taken.
class Debts : public RunsThrough<Owed> {
 public:
  Debts(const StepRuns<Owed>& runs, Step through) : RunsThrough(runs, through) {
    std::ranges::transform(recent(), recent_due_.begin(), due);
  }

  Due due_since(Step after) const {
    return is_recent(after) ? recent_due_[recent_place(after)] : due(since(after));
  }

 private:
  std::array<Due, kMostRecent> recent_due_;
};

// Step t moves a weight by w <- shrink(t) * w - step_size(t) * (sum of gradients + noise of std
// noise_std(t)). The clock remembers the two numbers that late noise depends on, and composes them
// over any run of steps in constant time, 32 bytes a step.
class VarianceClock {
 public:
  // Makes room for so many steps, so that opening them allocates nothing.
  void reserve(Step steps) { steps_.reserve(steps); }

  // Opens the next step and returns its number, from 1. `step_size` is learning rate / expected
  // batch, `noise_std` the standard deviation of the noise on the sum, `shrink` = 1 - learning rate
  // * weight decay, in (0, 1].
  Step open(double step_size, double noise_std, double shrink);

  // Makes the clock one that has opened these steps, for who goes on from a checkpoint; entry i is
  // step i + 1. The open step's size is not known: open() comes before the next gradient.
  void restore(std::span<const Owed> steps);
  std::span<const Owed> steps() const { return steps_.all(); }

  Step now() const { return steps_.now(); }

  // What step t alone owes.
  const Owed& at(Step t) const { return steps_.at(t); }

  // A row that waits keeps its weight as it was `after` some step, and is shrunk by all later steps
  // when it settles. A gradient of the step that is open would be shrunk with it, but should not
  // be: it is divided by that step's shrink beforehand.
  float gradient_scale() const {
    return static_cast<float>(step_size_ / steps_.at(steps_.now()).shrink);
  }

  // What steps after + 1, …, through owe, for rows settled through various `after`.
  Debts through(Step through) const { return {steps_, through}; }
  Owed over(Step after, Step through) const { return this->through(through).since(after); }

 private:
  double step_size_ = 0.0;
  StepRuns<Owed> steps_;
};

// The clock of a table with momentum: what any run of steps does to a momentum and its weight.

// What a coordinate (m, w) that only waits goes through: (m, w) <- A (m, w) + N(0, Q).
struct Drift {
  double mm = 1.0, mw = 0.0;                   // A: m <- mm * m + mw * w
  double wm = 0.0, ww = 1.0;                   //    w <- wm * m + ww * w
  double var_m = 0.0, cov = 0.0, var_w = 0.0;  // Q

  bool noisy() const { return var_m > 0.0 || var_w > 0.0; }
};

// The one after the other: A2 A1 and A2 Q1 A2' + Q2. Free of subtraction, as `Owed` is.
Drift then(const Drift& first, const Drift& second);

// A step of torch.optim.SGD on the noisy mean of gradients g, with d = g + weight_decay * w:
//   m <- momentum * m + (1 - dampening) * d     (the first step of all: m <- d)
//   w <- w - learning_rate * m                  (nesterov: d + momentum * m in the place of m)
struct MomentumStep {
  double learning_rate = 0.0;
  double weight_decay = 0.0;
  double momentum = 0.0;
  double dampening = 0.0;
  bool nesterov = false;
  bool first = false;      // no momentum has been gathered yet
  double divisor = 1.0;    // g = (sum of gradients + noise) / divisor
  double noise_std = 0.0;  // on the sum
};

// How (m, w) answers to one unit of g * divisor, the sum.
struct Response {
  double m = 0.0;
  double w = 0.0;
};

class MomentumClock {
 public:
  // Opens the next step and returns its number, from 1.
  Step open(const MomentumStep& step);

  Step now() const { return steps_.now(); }
  const Drift& at(Step t) const { return steps_.at(t); }
  RunsThrough<Drift> through(Step through) const { return {steps_, through}; }

  // Of the open step.
  const Response& response() const { return response_; }

 private:
  StepRuns<Drift> steps_;
  Response response_;
};

}  // namespace lazydp
