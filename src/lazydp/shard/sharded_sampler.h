#pragma once
// Gives a rank its part of the examples of a step.

#include <memory>

#include "lazydp/data/samplers.h"

namespace lazydp {

// Draws the sample of a step as one process would, whatever the number of ranks, and cuts it into
// neighbouring parts of equal size: rank r receives the r-th. A part may be empty. `whole` must
// outlive the sampler that is returned.
std::unique_ptr<Sampler> make_part_of_sample(const Sampler& whole, int rank, int ranks);

// Keeps the r-th of `ranks` parts of `examples`, in place.
void keep_part(std::vector<ExampleId>& examples, int rank, int ranks);

}  // namespace lazydp
