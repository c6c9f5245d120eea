#pragma once
// metrics.jsonl: a line for what was measured at a step. Secret, like the data it comes from.

#include <fstream>
#include <string>

#include "lazydp/train/evaluation.h"
#include "lazydp/train/json.h"
#include "lazydp/train/trainer.h"

namespace lazydp::apps {

// Steps are logged at most a thousand times in a run; evaluations always.
class MetricsLog {
 public:
  // Goes on with what a run that is resumed after step `from` had written: later lines go.
  MetricsLog(const std::string& path, Step from, Step steps);

  void step(const StepReport& report);
  void evaluation(Step step, const Metrics& metrics);

 private:
  void write(const Json& line);

  std::string path_;
  std::ofstream file_;
  Step every_;
};

}  // namespace lazydp::apps
