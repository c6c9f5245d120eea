#pragma once
// Hyper-parameters for runs that name none: those of the synthetic tasks, and a rule for data that
// nothing was tuned for. They depend on public values alone: sizes, budget, mechanism.

#include <cstdint>

#include "lazydp/base/types.h"
#include "lazydp/data/synthetic/synthetic.h"
#include "lazydp/noise/dense_optimizer.h"
#include "lazydp/noise/table_optimizer.h"
#include "lazydp/train/plan.h"
#include "lazydp/train/recipe.h"
#include "lazydp/train/schedule.h"

namespace lazydp {

// The most examples that a sampled privacy unit sends, unless the user says otherwise.
inline constexpr std::uint64_t kUsualExamplesPerUnit = 32;

struct Defaults {
  std::uint64_t batch = 0;
  std::uint64_t stream_batch = 0;  // of one pass in order; 0: `batch`
  double epochs = 0.0;             // 0: `steps` says how long to train
  Step steps = 0;
  double table_rate = 0.0;  // the largest, where rates follow the noise
  double dense_rate = 0.0;
  DenseRule dense_rule = DenseRule::sgd;
  TableRule table_rule = TableRule::sgd;
  bool rates_follow_noise = false;  // see rates_for()
  double warmup = 0.0;              // share of the steps over which learning rates rise to these
  Schedule::Shape shape = Schedule::Shape::constant;
  double clip_norm = 0.0;
  double noise_multiplier = 0.0;
  double delta = 1e-6;
  double epsilon = 0.0;  // above 0: the noise multiplier is the least that stays within it
};

// Returns the hyper-parameters for a synthetic task. Clipped gradients are bounded, so recipes that
// clip take larger batches and larger rates.
Defaults defaults_for(const Synthetic& data, const Recipe& recipe);

// What a record of the data is: sampled, clipped and protected as a whole.
enum class Record : std::uint8_t { example, unit };

// Returns hyper-parameters for a data file of so many records. Batches are a power of two.
Defaults defaults_for_file(std::uint64_t records, Record record, const Recipe& recipe);

struct Rates {
  double tables = 0.0;
  double dense = 0.0;
};

// Returns the usual learning rates of a plan whose mechanism, steps, schedules and rules are
// chosen.
//
// Where rates follow the noise, that of tables is the one at which all noise of a run adds up to a
// standard deviation of kNoiseOfARow (kCorrelatedNoiseOfARow) on every weight that starts near
// zero: larger rates drown what a row learns, smaller ones learn less than they could. Over tasks
// from 900 persons to 600,000 examples and budgets of 1 to 8 the best rate varied a thousandfold,
// and this number from 0.05 to 0.4. Adam's steps have the length of its rate however large the
// noise is, so its rate falls with the square root of their number, or with what the noise of
// correlated steps adds up to. Elsewhere rates are those of `defaults`, less where the noise
// multiplier is larger than the one they were found for.
Rates rates_for(const Defaults& defaults, const Plan& plan);

inline constexpr double kNoiseOfARow = 0.15;
inline constexpr double kCorrelatedNoiseOfARow = 0.1;

// Returns the standard deviation to which the noise of all steps of a plan adds up on a weight of a
// table under plain SGD without weight decay. 0 where the plan has no noise.
double noise_of_a_row(const Plan& plan);

}  // namespace lazydp
