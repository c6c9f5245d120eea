#pragma once
// Figures of a run in progress.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "lazydp/train/claim.h"
#include "lazydp/train/trainer.h"

namespace lazydp::cli {

// The mean loss of a run's last tenth; empty batches have none. NaN if none of its steps had one.
class FinalLoss {
 public:
  explicit FinalLoss(Step steps) : after_(steps - std::max<Step>(1, steps / 10)) {}

  void add(const StepReport& report) {
    if (report.step <= after_ || std::isnan(report.mean_loss)) return;
    sum_ += report.mean_loss;
    count_ += 1.0;
  }
  double mean() const {
    return count_ > 0.0 ? sum_ / count_ : std::numeric_limits<double>::quiet_NaN();
  }

 private:
  Step after_;
  double sum_ = 0.0;
  double count_ = 0.0;
};

// The epsilon of the model if it were released now; none where nothing can be claimed. Computed at
// most once a step, however many callers ask.
class EpsilonNow {
 public:
  // A trial of a private search is not released on its own, and shows no epsilon.
  EpsilonNow(const Trainer& trainer, double delta, bool trial)
      : trainer_(trainer), delta_(delta), trial_(trial) {}

  std::optional<double> operator()() {
    if (known() || trial_) return value_;
    const Claim now = claim(trainer_, delta_);
    at_ = trainer_.now();
    return value_ = now.holds ? std::optional(now.epsilon) : std::nullopt;
  }
  bool known() const { return at_ == trainer_.now(); }

 private:
  const Trainer& trainer_;
  double delta_;
  bool trial_;
  Step at_ = 0;
  std::optional<double> value_;
};

// A curve of epsilon has ten points or so: accounting may be slow.
inline bool is_tenth(Step t, Step steps) {
  return std::uint64_t{t} * 10 / steps > std::uint64_t{t - 1} * 10 / steps;
}

}  // namespace lazydp::cli
