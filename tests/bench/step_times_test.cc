#include "lazydp/bench/step_times.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lazydp {
namespace {

// However long a run is, keeps the times of its last steps, and means over all of them.
TEST(StepTimes, KeepsSoManyTimesAndNoMore) {
  StepTimes times;
  StepReport report{};
  constexpr int kSteps = 10'000;
  for (int i = 1; i <= kSteps; ++i) {
    report.seconds[static_cast<std::size_t>(Stage::forward)] = 1e-3 * i;
    report.rows.read = 2;
    times.add(report);
  }
  EXPECT_EQ(times.step_ms().size(), 4096u);
  EXPECT_EQ(times.compute_ms().size(), 4096u);
  EXPECT_NEAR(std::ranges::min(times.step_ms()), kSteps - 4095, 1e-6);
  EXPECT_NEAR(std::ranges::max(times.step_ms()), kSteps, 1e-6);
  EXPECT_EQ(times.steps(), kSteps);
  EXPECT_NEAR(times.stage_ms(Stage::forward), 0.5 * (kSteps + 1), 1e-6);
  EXPECT_EQ(times.rows_read(), 2.0);
}

}  // namespace
}  // namespace lazydp
