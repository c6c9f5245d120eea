#pragma once
// Gives values that occur often rows of their own: learned from the data, and therefore not
// private.

#include <cstdint>
#include <string>
#include <vector>

#include "lazydp/data/schema.h"
#include "lazydp/data/text/example_parser.h"

namespace lazydp {

// Returns the schema with a vocabulary in every table: the values that occur at least `min_count`
// times in these inputs, which are read once for it. Memory grows with the number of distinct
// values. The schema records what it took from the data: no epsilon covers that.
Schema learn_vocabulary(const Schema& schema, const std::vector<std::string>& inputs,
                        std::uint64_t min_count, const TextFormat& format);

}  // namespace lazydp
