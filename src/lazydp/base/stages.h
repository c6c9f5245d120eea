#pragma once
// Where the time of a step goes.

#include <array>
#include <chrono>
#include <cstddef>
#include <string_view>

namespace lazydp {

enum class Stage {
  data,
  forward,
  backward,
  backward_again,  // a second, weighted pass, where a method needs one
  norms,
  weight_gradients,
  dedup,
  settle,
  gradient_update,
  dense_update,
  count,
};

inline constexpr std::array<std::string_view, static_cast<std::size_t>(Stage::count)> kStageNames =
    {"data",  "forward", "backward",        "backward_again", "norms", "weight_gradients",
     "dedup", "settle",  "gradient_update", "dense_update"};

// A lap clock: every moment between start() and the last lap belongs to exactly one stage, so the
// stages add up to the step.
class StageClock {
 public:
  using Seconds = std::array<double, static_cast<std::size_t>(Stage::count)>;

  // Begins a step.
  void start() {
    seconds_.fill(0.0);
    last_ = std::chrono::steady_clock::now();
  }

  // The time since the last lap was spent on `stage`.
  void lap(Stage stage) {
    const auto now = std::chrono::steady_clock::now();
    seconds_[static_cast<std::size_t>(stage)] += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

  const Seconds& seconds() const { return seconds_; }
  double total() const {
    double sum = 0.0;
    for (const double s : seconds_) sum += s;
    return sum;
  }

 private:
  Seconds seconds_{};
  std::chrono::steady_clock::time_point last_;
};

}  // namespace lazydp
