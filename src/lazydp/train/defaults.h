#pragma once
// Hyper-parameters that do well on each data set, for whoever names none.

#include <cstdint>

#include "lazydp/base/types.h"
#include "lazydp/data/synthetic/synthetic.h"
#include "lazydp/noise/dense_optimizer.h"
#include "lazydp/noise/table_optimizer.h"
#include "lazydp/train/recipe.h"
#include "lazydp/train/schedule.h"

namespace lazydp {

struct Defaults {
  std::uint64_t batch = 0;
  double epochs = 0.0;  // 0: `steps` says how long
  Step steps = 0;
  double table_rate = 0.0;
  double dense_rate = 0.0;
  double warmup = 0.0;  // the share of the steps over which learning rates rise to these
  Schedule::Shape shape = Schedule::Shape::constant;
  double clip_norm = 0.0;
  double noise_multiplier = 0.0;
  double delta = 1e-6;
  double epsilon = 0.0;  // above 0: the noise multiplier is the least that stays within it
};

// Clipped gradients are bounded, so what clips takes larger batches and larger rates.
Defaults defaults_for(const Synthetic& data, const Recipe& recipe);

// A usual learning rate of the MLPs under a rule, given that of SGD. Adam and Adagrad undo the size
// of a gradient, so theirs does not depend on it.
double dense_rate_for(DenseRule rule, double of_sgd);

// A usual learning rate of tables under a rule, given that of SGD.
double table_rate_for(TableRule rule, double of_sgd);

// The same with rates for another noise multiplier than they were found for. More noise asks for
// smaller steps, of tables more than of MLPs, whose few weights see every example.
Defaults tuned_for_noise(const Defaults& defaults, double noise_multiplier);

// For data that nobody has tuned for: what does well on click tasks of about that size, with
// batches that are a power of two and a small part of the data.
Defaults defaults_for_file(std::uint64_t examples, const Recipe& recipe);

}  // namespace lazydp
