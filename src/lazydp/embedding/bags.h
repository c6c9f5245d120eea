#pragma once
// Bags: the rows that each example of a batch looks up in one table.

#include <cstddef>
#include <span>
#include <vector>

#include "lazydp/base/types.h"

namespace lazydp {

// The bags of one table: example i looks up ids[offsets[i]] ... ids[offsets[i + 1] - 1]. An id may
// occur twice in a bag, and a bag may be empty.
struct Bags {
  std::vector<std::size_t> offsets = {0};
  std::vector<RowId> ids;
  std::vector<float> weights;  // one for each id; empty: every weight is 1

  std::size_t size() const { return offsets.size() - 1; }
  std::size_t length(std::size_t bag) const { return offsets[bag + 1] - offsets[bag]; }
  std::span<const RowId> of(std::size_t bag) const {
    return {ids.data() + offsets[bag], length(bag)};
  }
  float weight(std::size_t position) const { return weights.empty() ? 1.0f : weights[position]; }

  void clear() {
    offsets.resize(1);
    ids.clear();
    weights.clear();
  }
};

}  // namespace lazydp
