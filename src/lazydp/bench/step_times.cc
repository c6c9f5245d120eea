#include "lazydp/bench/step_times.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/text/number_text.h"
#include "lazydp/random/stream.h"

namespace lazydp {

namespace {

constexpr std::size_t kResamples = 4000;
constexpr std::uint64_t kResampleSeed = 1;

}  // namespace

Ratio ratio(std::span<const double> of, std::span<const double> to) {
  check(of.size() == to.size() && !of.empty(), "one measurement of each in every round");
  std::vector<double> ratios(of.size());
  for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i] = of[i] / to[i];

  RandomStream random(Seed::fixed(kResampleSeed), Purpose::public_data, 0, 0);
  std::vector<double> medians(kResamples);
  std::vector<double> resample(ratios.size());
  for (double& resampled : medians) {
    for (double& value : resample) value = ratios[random.below(ratios.size())];
    resampled = median(resample);
  }
  return {
      .median = median(ratios), .low = quantile(medians, 0.025), .high = quantile(medians, 0.975)};
}

namespace {

constexpr std::size_t kKept = 4096;  // so that a long run takes no more memory than a short one
constexpr double kMillis = 1e3;
constexpr std::array kSettleStages = {Stage::history, Stage::noise_sampling, Stage::noisy_gradient,
                                      Stage::noise_update};

std::size_t index(Stage stage) {
  return static_cast<std::size_t>(stage);
}

void keep(std::vector<double>& values, std::size_t number, double value) {
  if (values.size() < kKept) {
    values.push_back(value);
  } else {
    values[number % kKept] = value;
  }
}

}  // namespace

void StepTimes::add(const StepReport& report) {
  const double total = std::accumulate(report.seconds.begin(), report.seconds.end(), 0.0);
  const auto number = static_cast<std::size_t>(steps_);
  keep(step_ms_, number, total * kMillis);
  keep(compute_ms_, number, (total - report.seconds[index(Stage::data)]) * kMillis);
  for (std::size_t i = 0; i < seconds_.size(); ++i) seconds_[i] += report.seconds[i];
  rows_.read += report.rows.read;
  rows_.written += report.rows.written;
  steps_ += 1.0;
}

StageTimes StepTimes::stages_ms(const Recipe& recipe, NoisePasses passes) const {
  const bool split = passes == NoisePasses::split;
  StageTimes times;
  const auto tell = [&](std::string_view name, double ms) { times.emplace_back(name, ms); };
  for (std::size_t i = 0; i < kStageNames.size(); ++i) {
    const auto stage = static_cast<Stage>(i);
    const bool of_split = std::ranges::find(kSettleStages, stage) != kSettleStages.end();
    if (stage == Stage::backward_again || (of_split && !split)) continue;
    if (stage == Stage::settle && split) continue;
    if (stage == Stage::exchange && stage_ms(stage) == 0.0) continue;  // there is only one rank
    if (stage != Stage::backward) {
      tell(kStageNames[i], stage_ms(stage));
    } else if (!split) {
      tell(kStageNames[i], stage_ms(Stage::backward) + stage_ms(Stage::backward_again));
    } else {
      const double first = stage_ms(Stage::backward);
      tell("per_example", recipe.clips() ? first : 0.0);
      tell("per_batch", recipe.clips() ? stage_ms(Stage::backward_again) : first);
    }
  }
  return times;
}

double StepTimes::noise_ms() const {
  double ms = stage_ms(Stage::settle);
  for (const Stage stage : kSettleStages) ms += stage_ms(stage);
  return ms;
}

double StepTimes::stage_ms(Stage stage) const {
  return per_step(seconds_[index(stage)]) * kMillis;
}

}  // namespace lazydp
