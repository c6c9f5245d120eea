#pragma once
// Hyper-parameters that do well on each data set, for runs that name none.

#include <cstdint>

#include "lazydp/base/types.h"
#include "lazydp/data/synthetic/synthetic.h"
#include "lazydp/noise/dense_optimizer.h"
#include "lazydp/noise/table_optimizer.h"
#include "lazydp/train/recipe.h"
#include "lazydp/train/schedule.h"

namespace lazydp {

// The most examples that a sampled privacy unit sends, unless the user says otherwise.
inline constexpr std::uint64_t kUsualExamplesPerUnit = 32;

struct Defaults {
  std::uint64_t batch = 0;
  double epochs = 0.0;  // 0: `steps` says how long to train
  Step steps = 0;
  double table_rate = 0.0;
  double dense_rate = 0.0;
  double warmup = 0.0;  // share of the steps over which learning rates rise to these
  Schedule::Shape shape = Schedule::Shape::constant;
  double clip_norm = 0.0;
  double noise_multiplier = 0.0;
  double delta = 1e-6;
  double epsilon = 0.0;  // above 0: the noise multiplier is the least that stays within it
};

// Returns the hyper-parameters for a synthetic task. Clipped gradients are bounded, so recipes that
// clip take larger batches and larger rates.
Defaults defaults_for(const Synthetic& data, const Recipe& recipe);

// Returns a usual learning rate of the MLPs under a rule, given that of SGD. Adam and Adagrad undo
// the size of a gradient, so their rates do not depend on it.
double dense_rate_for(DenseRule rule, double of_sgd);

// Returns a usual learning rate of tables under a rule, given that of SGD.
double table_rate_for(TableRule rule, double of_sgd);

// Adapts the rates to another noise multiplier than they were tuned for. More noise asks for
// smaller steps, of tables more than of MLPs, whose few weights see every example.
Defaults tuned_for_noise(const Defaults& defaults, double noise_multiplier);

// Returns hyper-parameters for data that nothing was tuned for: they do well on click tasks of
// about that size, with batches that are a power of two and a small part of the data.
Defaults defaults_for_file(std::uint64_t examples, const Recipe& recipe);

}  // namespace lazydp
