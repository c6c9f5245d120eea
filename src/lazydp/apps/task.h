#pragma once
// The data that a run learns from, by the name that --synthetic gives it.

#include <cstdint>
#include <memory>
#include <string>

#include "lazydp/apps/flags.h"
#include "lazydp/apps/model_options.h"
#include "lazydp/data/dataset.h"
#include "lazydp/data/synthetic.h"

namespace lazydp::apps {

struct TaskChoice {
  std::string name;  // as --synthetic takes it
  Synthetic what;
  // Of a task to be timed: so many that even the largest tables are looked up all over, and not at
  // the same rows again.
  std::uint64_t timing_examples = std::uint64_t{1} << 26;

  bool learnable() const { return std::holds_alternative<ClickSize>(what); }
  std::uint64_t examples() const;  // to train on: the public size of the data
  double bytes() const;            // that holding it takes
};

// The click task for the model `small`, if it still fits; look-ups to be timed for all others.
// Throws UserError for a task that the model cannot take.
TaskChoice choose_task(const Given& given, const ModelChoice& model);

struct Task {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> held_out;  // null where there is nothing to learn
  double bayes_auc = 0.0;             // NaN there
  double bayes_logloss = 0.0;
};

Task make_task(const TaskChoice& choice, const ModelShape& shape);

}  // namespace lazydp::apps
