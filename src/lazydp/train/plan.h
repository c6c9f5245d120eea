#pragma once
// The plan of a run: everything that decides what it computes; and, apart, what only decides how
// fast.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "lazydp/base/types.h"
#include "lazydp/data/samplers.h"
#include "lazydp/model/frozen_parts.h"
#include "lazydp/noise/correlation.h"
#include "lazydp/noise/dense_optimizer.h"
#include "lazydp/noise/table_optimizer.h"
#include "lazydp/privacy/accountant.h"
#include "lazydp/privacy/calibration.h"
#include "lazydp/privacy/ledger.h"
#include "lazydp/train/initial_model.h"
#include "lazydp/train/recipe.h"
#include "lazydp/train/schedule.h"

namespace lazydp {

// How often, and how soon again, an example (or unit) comes to the steps of a block, where it is
// not drawn anew for each step. A block is a run of steps under one noise key.
struct BlockRules {
  BlockSampling sampling = BlockSampling::stream;
  std::uint64_t separation = 1;             // steps from one participation to the next, at least
  std::uint64_t times = kAnyNumberOfTimes;  // participations at most; more do not fit anyway
  bool disjoint = false;  // the user declares: no example is in the data of two blocks

  // Equal if every field is.
  bool operator==(const BlockRules&) const = default;
};

struct Plan {
  Recipe recipe = kRecipes.back();
  Mechanism mechanism;  // base values; the schedules below multiply them
  Step steps = 0;
  std::uint64_t examples_per_unit = 1;  // the most that a sampled unit sends

  double table_rate = 0.0;  // learning rates
  double dense_rate = 0.0;
  DenseRule dense_rule = DenseRule::sgd;
  TableRule table_rule = TableRule::sgd;  // one under which noise may wait, if there is noise
  double weight_decay = 0.0;              // on table rows
  double positive_weight = 1.0;           // what a positive's loss counts for; public
  FrozenParts frozen;                     // keep the weights that they have
  std::optional<InitialModel> initial;    // whose weights the run begins with; none: random ones
  Schedule rate_schedule;
  Schedule noise_schedule;
  Schedule clip_schedule;
  Correlation correlation;           // of the noise of steps
  std::optional<BlockRules> blocks;  // none: batches are Poisson samples, or nothing is claimed

  bool calibrates_scores = false;  // once, after the last step: see score_calibration.h

  unsigned normals_per_sample = 1;  // normals that add up to one: see NoiseSource
  std::optional<Budget> budget;     // the most that the run may spend; none: no limit
  Accountant accountant = Accountant::pld;

  // Throws UserError, or PrivacyError for a plan that would void the guarantee.
  void validate() const;
};

// Options that may change speed and memory, but neither the claim nor (to rounding) the model.
struct Performance {
  bool settle_ahead = false;  // settle the next batch's rows after an update, not on reading
  bool read_ahead = false;    // read the next batch on a thread of its own while a step is computed
  NoisePasses passes = NoisePasses::fused;               // split: for timing the paper's stages
  std::size_t materialize_bytes = std::size_t{2} << 30;  // most that DP-SGD(B) holds at a time
};

// Throws PrivacyError unless the plan's ledger counts what the sampler does.
void require_counted(const Plan& plan, const Sampler& sampler);

// The values that --settle and --stages take.
const char* settle_name(const Performance& performance);
const char* stages_name(const Performance& performance);

// Returns the length to which the gradient of an example is clipped in step t.
double clip_norm(const Plan& plan, Step t);

// Returns what step t does to the weights of tables, and to dense ones.
TableStep table_step(const Plan& plan, Step t);
DenseStep dense_step(const Plan& plan, Step t);

// Returns the noise multiplier of step t.
double noise_multiplier(const Plan& plan, Step t);

// Returns the mechanism by which step t of the plan reads the data, in the block that began after
// step `before_block`.
PrivacyEvent event_of(const Plan& plan, Step t, Step before_block = 0);

// Returns the noise multiplier of the counts by which scores are calibrated after the last step,
// each of which counts an example once: ten times that of the one Gaussian mechanism that the steps
// about are, so that the counts cost about a two-hundredth of the budget. Steps that are sampled
// are one by the central limit theorem (Bu et al. 2020). 0 without noise.
double calibration_noise(const Plan& plan);

// Returns the step after which the last block of a ledger began, 0 if it has none.
Step step_before_block(const Ledger& ledger);

// What a run has done so far.
struct Progressed {
  Step now = 0;       // steps taken
  Ledger spent = {};  // on them, and before
  Step before_block =
      0;  // the next step belongs to the block that began, or begins, after this one

  // A run that goes on in its last block, or begins another after step `now`.
  static Progressed in_block(Step now, const Ledger& spent) {
    return {now, spent, step_before_block(spent)};
  }
  static Progressed in_new_block(Step now, const Ledger& spent) { return {now, spent, now}; }
};

// Returns what a ledger holds once a run that has done `so_far` has taken steps up to `last`.
Ledger ledger_through(const Plan& plan, const Progressed& so_far, Step last);

// Returns what was spent before the run's first step: by its initial model, if it has one.
Ledger spent_before(const Plan& plan);

// A run that has taken no step.
Progressed at_beginning(const Plan& plan);

// Returns the smallest base noise multiplier with which a run that has done `so_far` takes the
// plan's other steps, under its schedule, within its budget. If there is none, throws UserError, or
// PrivacyError if the spending is the cause.
double noise_for(const Plan& plan, const Progressed& so_far);

// The same at the beginning of a run.
inline double noise_for(const Plan& plan) {
  return noise_for(plan, at_beginning(plan));
}

// Returns the last step, plan.steps at most, through which a run that has done `so_far` stays
// within the plan's budget; its present step if it cannot afford another one.
Step last_affordable_step(const Plan& plan, const Progressed& so_far);

}  // namespace lazydp
