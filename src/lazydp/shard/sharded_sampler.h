#pragma once
// A rank's part of the examples of a step.

#include <memory>

#include "lazydp/data/samplers.h"

namespace lazydp {

// The sample of a step is drawn as one process would draw it, whatever the number of ranks, and cut
// into neighbouring parts of equal size: rank r gets the r-th. A part may be empty. `whole`
// outlives what is returned.
std::unique_ptr<Sampler> make_part_of_sample(const Sampler& whole, int rank, int ranks);

// The r-th of `ranks` parts of `examples`, in place.
void keep_part(std::vector<ExampleId>& examples, int rank, int ranks);

}  // namespace lazydp
