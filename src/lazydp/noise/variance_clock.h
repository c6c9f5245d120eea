#pragma once
// The variance clock: how much noise, and how much weight decay, any run of steps owes a weight;
// with momentum, what the run does to a momentum and its weight.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/types.h"
#include "lazydp/noise/cell_weights.h"
#include "lazydp/noise/correlation.h"
#include "lazydp/noise/owed.h"
#include "lazydp/noise/step_ranges.h"

namespace lazydp {

// A step of torch.optim.SGD on the noisy mean of gradients g, with d = g + weight_decay * w:
//   m <- momentum * m + (1 - dampening) * d     (the first step of all: m <- d)
//   w <- w - learning_rate * m                  (nesterov: d + momentum * m in the place of m)
// Without momentum m is d, and nothing is remembered.
struct TableStep {
  double learning_rate = 0.0;
  double weight_decay = 0.0;
  double momentum = 0.0;
  double dampening = 0.0;
  bool nesterov = false;
  bool first = false;      // no momentum has been gathered yet
  double divisor = 1.0;    // g = (sum of gradients + noise) / divisor
  double noise_std = 0.0;  // on the sum
};

// Records what the steps of a run owe rows that wait. A trainer opens steps on it; an optimizer
// settles by it.
class StepClock {
 public:
  virtual ~StepClock() = default;

  // Reserves memory for `steps` steps, so that opening them allocates nothing.
  virtual void reserve(Step steps) = 0;

  // Opens the next step and returns its number, from 1.
  virtual Step open(const TableStep& step) = 0;
  virtual Step now() const = 0;

  // Returns all steps so far as a checkpoint keeps them, numbers_a_step() numbers for each.
  virtual std::size_t numbers_a_step() const = 0;
  virtual std::vector<double> numbers() const = 0;

  // Puts the clock where it was when it had opened these steps, of which those after `before_block`
  // share a noise key. The open step's size is not known: the caller calls open() before the next
  // gradient.
  virtual void restore(std::span<const double> numbers, Step before_block) = 0;

  // Puts the clock where `steps` steps have passed that owe nothing. The next one begins a block.
  virtual void restore_settled(Step steps) = 0;

  // Returns the last step before the open block.
  virtual Step before_block() const = 0;
};

// Whether steps shrink the weights of rows, including those of rows that wait.
enum class WeightDecay : std::uint8_t { off, on };

// Answers for many rows at one moment how much a row is owed through `through`.
class OwedThrough : public TermsEndingAt {
 public:
  using TermsEndingAt::TermsEndingAt;

  // Of steps whose noise is correlated.
  OwedThrough(const StepRanges<Owed>& runs, Step through, const Correlation& correlation,
              const StepRanges<Owed>& last_uses)
      : TermsEndingAt(runs, through), cells_(std::in_place, correlation, *this, last_uses) {}

  OwedThrough(const OwedThrough&) = delete;  // its parts refer to each other
  OwedThrough& operator=(const OwedThrough&) = delete;

  // Returns what single cells weigh. The noise of steps is correlated.
  const CellWeights& cells() const {
    check(cells_.has_value(), "the noise of steps is correlated");
    return *cells_;
  }

 private:
  std::optional<CellWeights> cells_;
};

// Step t moves a weight by w <- shrink(t) * w - step_size(t) * (sum of gradients + noise of std
// noise_std(t)). The clock remembers the two numbers that late noise depends on, and composes them
// over any run of steps in constant time, 32 bytes a step.
//
// Where the noise of steps is correlated, noise_std is the deviation that each would have alone,
// and the clock remembers twice as much.
class VarianceClock final : public StepClock {
 public:
  explicit VarianceClock(const Correlation& correlation = {}) : correlation_(correlation) {}

  void reserve(Step steps) override;
  Step open(const TableStep& step) override;

  // Opens a step given by its parts: `step_size` is learning rate / expected batch, `noise_std` the
  // standard deviation of the noise on the sum, `shrink` = 1 - learning rate * weight decay, in (0,
  // 1].
  Step open(double step_size, double noise_std, double shrink);

  Step now() const override { return steps_.now(); }
  std::size_t numbers_a_step() const override { return 2; }
  std::vector<double> numbers() const override;
  void restore(std::span<const double> numbers, Step before_block) override;
  void restore_settled(Step steps) override;

  Step before_block() const override { return correlation_.before_block(); }
  const Correlation& correlation() const { return correlation_; }

  // Returns what step t alone owes.
  const Owed& at(Step t) const { return steps_.at(t); }

  // A row that waits keeps its weight as it was `after` some step, and is shrunk by all later steps
  // when it settles. A gradient of the step that is open would be shrunk with it, but should not
  // be: it is divided by that step's shrink beforehand.
  float gradient_scale() const {
    return static_cast<float>(step_size_ / steps_.at(steps_.now()).shrink);
  }

  // Returns what steps after + 1, …, through owe, for rows settled through various `after`.
  OwedThrough through(Step through) const {
    if (correlation_.independent()) return {steps_, through};
    return {steps_, through, correlation_, last_uses_};
  }
  Owed over(Step after, Step through) const { return this->through(through).since(after); }

 private:
  Step push(const Owed& step);

  Correlation correlation_;
  double step_size_ = 0.0;
  StepRanges<Owed> steps_;
  StepRanges<Owed> last_uses_;  // of cells; empty where noise is independent
};

// The change of a coordinate (m, w) that only waits: (m, w) <- A (m, w) + N(0, Q).
struct Drift {
  double mm = 1.0, mw = 0.0;                   // A: m <- mm * m + mw * w
  double wm = 0.0, ww = 1.0;                   //    w <- wm * m + ww * w
  double var_m = 0.0, cov = 0.0, var_w = 0.0;  // Q

  bool noisy() const { return var_m > 0.0 || var_w > 0.0; }
};

// Composes two drifts, `first` before `second`: A2 A1 and A2 Q1 A2' + Q2. Free of subtraction, as
// for `Owed`.
Drift then(const Drift& first, const Drift& second);

// The response of (m, w) to one unit of g * divisor, the sum.
struct Response {
  double m = 0.0;
  double w = 0.0;
};

// The clock of tables with momentum: what any run of steps does to a momentum and its weight.
class MomentumClock final : public StepClock {
 public:
  void reserve(Step steps) override { steps_.reserve(steps); }
  Step open(const TableStep& step) override;
  Step now() const override { return steps_.now(); }
  std::size_t numbers_a_step() const override { return 7; }
  std::vector<double> numbers() const override;
  void restore(std::span<const double> numbers, Step before_block) override;
  void restore_settled(Step steps) override;
  Step before_block() const override { return before_block_; }

  const Drift& at(Step t) const { return steps_.at(t); }
  RangesEndingAt<Drift> through(Step through) const { return {steps_, through}; }

  // Returns the response in the open step.
  const Response& response() const { return response_; }

 private:
  StepRanges<Drift> steps_;
  Response response_;
  Step before_block_ = 0;
};

}  // namespace lazydp
