#pragma once
// What the dense optimizer remembers, in a checkpoint.

#include <cstdint>
#include <string>

#include "lazydp/checkpoint/sealed_file.h"
#include "lazydp/noise/dense_optimizer.h"

namespace lazydp {

// In the head: what stands at the file's end.
struct OptimizerHead {
  std::string rule = {};
  Step steps = 0;
  std::uint64_t bytes = 0;
};

OptimizerHead head_of(DenseOptimizer& optimizer);

void write_state(SealedWriter& file, DenseOptimizer& optimizer);

// Who branches from a settled state may choose another rule: that one begins afresh. UserError for
// another rule, or weights of another number, of a state that is not settled.
void read_state(SealedReader& file, const OptimizerHead& there, bool settled,
                DenseOptimizer& optimizer);

}  // namespace lazydp
