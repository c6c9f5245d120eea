#pragma once
// The synthetic click task: a learnable problem of fixed difficulty, the same on every machine.

#include <memory>

#include "lazydp/data/dataset.h"
#include "lazydp/data/synthetic/click_truth.h"

namespace lazydp {

struct ClickTask {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> held_out;
  double bayes_auc = 0.0;      // of the hidden truth on the held-out examples, in expectation over
  double bayes_logloss = 0.0;  // their labels: no model can be expected to do better
};

// Makes all examples, in parallel, and holds them in memory (85 bytes each).
ClickTask make_click_task(ClickSize size);

}  // namespace lazydp
