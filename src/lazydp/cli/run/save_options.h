#pragma once
// What a run leaves behind, and how often it saves itself on the way.

#include <chrono>
#include <string>

#include "lazydp/base/types.h"
#include "lazydp/cli/flags.h"

namespace lazydp::cli {

struct Keeping {
  Step every_steps = 0;  // 0: no
  double every_seconds = 0.0;
  bool release = true;  // at the end
  bool metrics_on_card = false;
};

// Throws UserError.
Keeping choose_keeping(const Given& given);

// Says when the next checkpoint is due.
class CheckpointClock {
 public:
  explicit CheckpointClock(const Keeping& keeping) : keeping_(keeping) {}

  bool due(Step t) {
    const auto now = std::chrono::steady_clock::now();
    const bool by_steps = keeping_.every_steps > 0 && t % keeping_.every_steps == 0;
    const bool by_time =
        keeping_.every_seconds > 0.0 &&
        std::chrono::duration<double>(now - last_).count() >= keeping_.every_seconds;
    if (by_time) last_ = now;
    return by_steps || by_time;
  }

 private:
  Keeping keeping_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace lazydp::cli
