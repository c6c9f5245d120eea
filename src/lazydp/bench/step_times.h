#pragma once
// The times of a run's steps, by stage, and the rows that they touched.

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

// The ratio of two contenders' times, with its confidence interval.
struct Ratio {
  double median = 0.0;
  double low = 0.0;  // a 95 % bootstrap interval of the median
  double high = 0.0;
};

// Returns the ratio of times that were measured in the same rounds: the median of the ratios by
// round, so that a slow spell of the machine, which slows both, cancels. The interval is that of
// 4,000 resamples of the rounds, drawn from a fixed seed.
Ratio ratio(std::span<const double> of, std::span<const double> to);

// Stages under the names that reports use, with their mean time in a step.
using StageTimes = std::vector<std::pair<std::string_view, double>>;

class StepTimes {
 public:
  void add(const StepReport& report);

  // Times of whole steps, and of steps without Stage::data; the last 4,096, if there were more.
  const std::vector<double>& step_ms() const { return step_ms_; }
  const std::vector<double>& compute_ms() const { return compute_ms_; }

  // Returns mean times. With fused passes a second backward pass counts as backward. With split
  // passes `settle` is given in the paper's stages, and backward as the pass over examples one by
  // one and the pass over the batch.
  StageTimes stages_ms(const Recipe& recipe, NoisePasses passes) const;
  double stage_ms(Stage stage) const;

  // Returns the time of drawing noise and adding it to tables, fused or split.
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
