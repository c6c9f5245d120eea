#pragma once
// Signs that a training went wrong. They are computed from the data: only the screen and the page
// of the run, which are secret, tell them; a card never does.

#include <optional>
#include <string>
#include <vector>

#include "lazydp/cli/run/run.h"
#include "lazydp/train/trainer.h"

namespace lazydp::cli {

// Compares the training loss with that of a run's first steps.
class LossWatch {
 public:
  // A run of `last` steps, of which `done` were taken in earlier sessions: what it began with is
  // then not known, and nothing is ever said.
  LossWatch(Step last, Step done);

  // Returns a warning, once in a run, when the mean loss of a fortieth of the steps is well above
  // that of the first ones.
  std::optional<std::string> add(const StepReport& report);

  // Returns the mean loss of the first steps, if there were any.
  std::optional<double> first() const;

 private:
  struct Mean {
    double sum = 0.0;
    double count = 0.0;
    double value() const { return sum / count; }
  };

  Step first_steps_;
  Step window_;
  bool known_;
  bool warned_ = false;
  Mean first_;
  Mean recent_;
};

// Returns what the numbers of a finished run say against it, in whole sentences; none for a task
// that has nothing to learn.
std::vector<std::string> signs_of_trouble(const RunOptions& options, const RunResult& result);

}  // namespace lazydp::cli
