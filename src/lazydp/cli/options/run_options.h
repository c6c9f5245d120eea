#pragma once
// All decisions for one training run: the flags that were given, and defaults elsewhere.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "lazydp/cli/flags.h"
#include "lazydp/cli/options/machine_options.h"
#include "lazydp/cli/options/model_and_data_options.h"
#include "lazydp/data/samplers.h"
#include "lazydp/release/initial_weights.h"
#include "lazydp/train/plan.h"

namespace lazydp::cli {

struct RunOptions {
  ModelChoice model;
  std::shared_ptr<const InitialWeights> initial;  // null: it begins with random weights
  DataSource task;
  Plan plan;
  Performance performance;
  Sampling sampling = Sampling::poisson;
  std::uint64_t batch = 0;          // the expected batch, rounded
  std::uint64_t places_a_step = 0;  // of a stream: places of the data, some of which are empty
  Step before_data = 0;             // of a stream: the step after this one took the first of them
  double delta = 0.0;
  std::optional<std::uint64_t> seed;        // none: from the operating system
  bool calibrated = false;                  // the noise multiplier was chosen to meet the budget
  Step eval_every = 0;                      // 0: only at the end
  std::optional<std::string> table_folder;  // folder of tables in files; none: in memory
  std::uint64_t eval_examples = 0;          // scored in each evaluation; all if there are no more
  std::uint64_t cutoff = 0;                 // of the metrics of the best-scored within groups

  // Returns how many examples one of a batch sends, on average: more than one if it is a unit.
  double examples_sent() const;
};

// Returns the flags with what was chosen for a data file where no flag named it: a run's
// config.toml keeps that, so that a run which goes on keeps it too, whatever then is the number of
// its steps, its budget, or the default of another version.
FlagTexts with_choices(FlagTexts given, const RunOptions& options);

// Throws UserError, or PrivacyError, for a run that cannot be trained. `taken`: the steps that a
// run has taken, after which those of --more-steps and --more-epochs come.
RunOptions choose_run(const FlagTexts& given, Step taken = 0);

// Chooses a run of an algorithm that the caller chose.
RunOptions choose_run(const FlagTexts& given, const Recipe& recipe, Step taken = 0);

}  // namespace lazydp::cli
