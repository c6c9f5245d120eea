#pragma once
// A step's stages in the groups that the paper's figures show.

#include "lazydp/bench/interleaved_steps.h"

namespace lazydp::paper {

// In ms, means over steps. They add up to the step without drawing its batch.
struct StepParts {
  double forward = 0.0;
  double per_example = 0.0;  // the backward pass that looks at examples one by one, and its norms
  double per_batch = 0.0;    // the backward pass that does not, and weight gradients
  double update = 0.0;       // of dense layers and tables, with all noise

  double total() const { return forward + per_example + per_batch + update; }
};

StepParts parts_of(const Measured& measured);

// `update`, of split kernels.
struct UpdateParts {
  double sampling = 0.0;    // standard normals
  double generation = 0.0;  // scaled, and summed up to what a row is owed
  double writing = 0.0;     // gradients and noise added to the tables
  double overhead = 0.0;    // finding late rows, reading and writing histories, pricing
  double other = 0.0;       // dense layers

  double total() const { return sampling + generation + writing + overhead + other; }
};

UpdateParts update_of(const Measured& measured);

// What an algorithm that noises every row would take with other tables: the noise is linear in
// their bytes, all else stays.
double eager_ms_at(const Measured& measured, double measured_bytes, double bytes);

}  // namespace lazydp::paper
