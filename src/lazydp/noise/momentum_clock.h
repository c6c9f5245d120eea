#pragma once
// The clock of a table with momentum: what any run of steps does to a momentum and its weight.

#include "lazydp/base/types.h"
#include "lazydp/noise/step_ranges.h"

namespace lazydp {

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
