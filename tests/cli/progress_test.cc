// The progress that a waiting user sees.

#include "lazydp/report/progress.h"

#include <gtest/gtest.h>

#include <optional>
#include <sstream>

namespace lazydp::cli {
namespace {

std::string shown(Progress::Style style, Step steps, std::optional<double> epsilon) {
  std::ostringstream out;
  Progress progress(style, out);
  progress.begin("run", steps);
  StepReport report;
  report.examples = 10;
  report.mean_loss = 0.5;
  for (report.step = 1; report.step <= steps; ++report.step) {
    progress.step(report, [epsilon] { return epsilon; });
  }
  progress.settled(7, 7);
  progress.end();
  return out.str();
}

TEST(Progress, TellsTenLinesAwayFromATerminal) {
  const std::string text = shown(Progress::Style::lines, 1000, 2.5);
  EXPECT_EQ(std::ranges::count(text, '\n'), 11) << text;  // and one for the settling
  EXPECT_NE(text.find("step 1,000/1,000"), std::string::npos);
  EXPECT_NE(text.find("loss 0.5000"), std::string::npos);
  EXPECT_NE(text.find("epsilon 2.50 if released now"), std::string::npos);
}

TEST(Progress, ShortRunsTellEveryStep) {
  EXPECT_EQ(std::ranges::count(shown(Progress::Style::lines, 3, 1.0), '\n'), 4);
}

TEST(Progress, SaysNothingOfAnEpsilonThatIsNotClaimed) {
  EXPECT_EQ(shown(Progress::Style::lines, 5, std::nullopt).find("epsilon"), std::string::npos);
}

TEST(Progress, IsOneLineOnATerminalAndCleansUp) {
  const std::string text = shown(Progress::Style::live, 1000, 2.5);
  EXPECT_EQ(std::ranges::count(text, '\n'), 0);
  EXPECT_NE(text.find("\rrun  step 1,000/1,000"), std::string::npos);
  EXPECT_TRUE(text.ends_with("\r\033[K"));
}

TEST(Progress, QuietMeansQuiet) {
  EXPECT_EQ(shown(Progress::Style::none, 100, 1.0), "");
}

}  // namespace
}  // namespace lazydp::cli
