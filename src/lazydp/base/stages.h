#pragma once
// Clocks: the time of a step by stage, and a plain stopwatch.

#include <array>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

namespace lazydp {

enum class Stage {
  data,
  forward,
  backward,
  backward_again,  // a second, weighted pass, for methods that need one
  norms,
  weight_gradients,
  dedup,
  settle,
  gradient_update,
  dense_update,
  exchange,  // between ranks: packing, and waiting for messages
  history,   // this and the next three: `settle` in the paper's stages, where kernels run unfused
  noise_sampling,
  noisy_gradient,
  noise_update,
  count,
};

inline constexpr std::array<std::string_view, static_cast<std::size_t>(Stage::count)> kStageNames =
    {"data",           "forward",        "backward",
     "backward_again", "norms",          "weight_gradients",
     "dedup",          "settle",         "gradient_update",
     "dense_update",   "exchange",       "history",
     "noise_sampling", "noisy_gradient", "noise_update"};

// Measures the seconds since it was made, or since its last lap.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  // Returns the seconds, and begins anew.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(start_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// A lap clock: every moment between start() and the last lap belongs to exactly one stage, so the
// stages add up to the step.
class StageClock {
 public:
  using Seconds = std::array<double, static_cast<std::size_t>(Stage::count)>;

  // Begins a step.
  void start() {
    seconds_.fill(0.0);
    watch_.lap();
  }

  // Adds the time since the last lap to `stage`.
  void lap(Stage stage) { seconds_[static_cast<std::size_t>(stage)] += watch_.lap(); }

  // Divides the time since the last lap among several stages, in proportion to `parts`.
  void lap_in_proportion(std::span<const Stage> stages, std::span<const double> parts) {
    const double elapsed = watch_.lap();
    const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const double share = sum > 0.0 ? parts[i] / sum : 1.0 / static_cast<double>(stages.size());
      seconds_[static_cast<std::size_t>(stages[i])] += elapsed * share;
    }
  }

  const Seconds& seconds() const { return seconds_; }
  double total() const {
    double sum = 0.0;
    for (const double s : seconds_) sum += s;
    return sum;
  }

 private:
  Seconds seconds_{};
  Stopwatch watch_;
};

}  // namespace lazydp
