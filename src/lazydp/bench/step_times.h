#pragma once
// How long the steps of a run took, where the time went, and how many rows they touched.

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "lazydp/base/stages.h"
#include "lazydp/noise/noise_writer.h"
#include "lazydp/train/recipe.h"
#include "lazydp/train/trainer.h"

namespace lazydp {

// How many times longer one contender takes than another, and how sure that is.

struct Ratio {
  double median = 0.0;
  double low = 0.0;  // a 95 % bootstrap interval of the median
  double high = 0.0;
};

// Of measurements taken in the same rounds: the median of the rounds' own ratios, so that a slow
// spell of the machine, which slows both, cancels. The interval is that of 4,000 resamples of the
// rounds, drawn from a fixed seed.
Ratio ratio(std::span<const double> of, std::span<const double> to);

// A stage by the name that reports give it, and its mean time in a step.
using StageTimes = std::vector<std::pair<std::string_view, double>>;

class StepTimes {
 public:
  void add(const StepReport& report);

  // Of whole steps, and of steps without Stage::data. Of the last 4,096, if there were more.
  const std::vector<double>& step_ms() const { return step_ms_; }
  const std::vector<double>& compute_ms() const { return compute_ms_; }

  // Means. Fused: a second backward pass counts as backward. Split: `settle` is told in the paper's
  // stages, and backward as the pass that sees examples one by one and the one that sees the batch.
  StageTimes stages_ms(const Recipe& recipe, NoisePasses kernels) const;
  double stage_ms(Stage stage) const;

  // Of making noise and adding it to tables, fused or split.
  double noise_ms() const;
  double steps() const { return steps_; }
  double rows_read() const { return per_step(static_cast<double>(rows_.read)); }
  double rows_written() const { return per_step(static_cast<double>(rows_.written)); }

 private:
  double per_step(double total) const { return steps_ == 0 ? 0.0 : total / steps_; }

  double steps_ = 0.0;
  std::vector<double> step_ms_;
  std::vector<double> compute_ms_;
  StageClock::Seconds seconds_{};
  RowTraffic rows_;
};

}  // namespace lazydp
