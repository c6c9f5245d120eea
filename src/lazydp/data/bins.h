#pragma once
// Balls in bins: each example is in one secret step of every epoch, always the same.

#include <cstdint>
#include <memory>

#include "lazydp/data/samplers.h"

namespace lazydp {

// Returns a sampler in which every example draws one of `bins` bins, once, uniformly and
// independently, and is in the step of that bin in every epoch of `bins` steps. The examples of a
// bin ascend. Privacy amplification requires that the bins are unknown to an adversary: the seed
// must be secret. Takes four bytes an example. Throws UserError for 2^32 examples or more.
std::unique_ptr<Sampler> make_bins_sampler(const Seed& seed, std::uint64_t population,
                                           std::uint64_t bins);

}  // namespace lazydp
