#pragma once
// Trains the tiny model of an audit once, with everything that may happen in a run.

#include <string>
#include <vector>

#include "lazydp/audit/canary.h"
#include "lazydp/noise/correlation.h"
#include "lazydp/privacy/ledger.h"
#include "lazydp/random/seed.h"
#include "lazydp/train/recipe.h"
#include "lazydp/train/schedule.h"

namespace lazydp {

// The events of a run. The later fields change when noise is drawn, and where rows lie, but neither
// the mechanism nor its claim.
struct AuditedRun {
  Recipe recipe = kRecipes.back();
  Canary canary = Canary::rare;
  Step steps = 4;
  double sampling_rate = 1.0;
  double noise_multiplier = 0.0;
  // Where the noise of steps is correlated, the examples are a stream of one step a pass, in all of
  // which the canary takes part.
  Correlation correlation = {};
  Schedule rate_schedule = {};
  Step eval_every = 0;     // score all examples, including the canary's, after so many steps
  Step restart_every = 0;  // save after so many steps, and continue from there in a fresh trainer
  bool tables_in_files = false;  // instead of in memory
  std::string folder = {};       // for the files of the last two options; empty: they are off

  // Returns whether every run begins with the same rows. Rows of tables in files come from the
  // run's own seed.
  bool same_start() const { return !tables_in_files; }
};

// Returns what a run with this noise multiplier records. Throws UserError for one that cannot be.
Ledger ledger_of(const AuditedRun& run, double noise_multiplier);

// The weights at the start and the change of every one until the release: dense ones, then table
// after table.
struct Released {
  std::vector<float> initial;
  std::vector<double> change = {};
  int rows_left_alone = 0;  // the canary's rows that did not change
  Ledger ledger = {};
};

// Trains one run. The files it writes to the folder are deleted when it returns.
Released train_for_audit(const AuditedRun& run, Presence presence, const Seed& seed);

// Returns the direction, of length 1, in which the canary pulls weights that begin at `initial`:
// found by training without noise.
std::vector<double> canary_pull(const AuditedRun& run, const std::vector<float>& initial);

}  // namespace lazydp
