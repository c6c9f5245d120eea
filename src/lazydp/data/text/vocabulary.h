#pragma once
// Rows of their own for values that occur often: learned from the data, and so not private.

#include <cstdint>
#include <string>
#include <vector>

#include "lazydp/data/schema.h"

namespace lazydp {

// The schema with a vocabulary in every table: the values that occur at least `min_count` times in
// these inputs, which are read once for it. Memory grows with the number of distinct values. The
// schema says of itself what it took from the data: no epsilon covers that.
Schema learn_vocabulary(const Schema& schema, const std::vector<std::string>& inputs,
                        std::uint64_t min_count);

}  // namespace lazydp
