#pragma once
// Through which step each row of a table has received its noise: four bytes a row.

#include <cstddef>
#include <span>

#include "lazydp/base/huge_memory.h"
#include "lazydp/base/types.h"
#include "lazydp/kernels/prefetch.h"

namespace lazydp {

class History {
 public:
  explicit History(RowId rows)
      : memory_(static_cast<std::size_t>(rows) * sizeof(Step)),
        settled_through_(static_cast<Step*>(memory_.data()), static_cast<std::size_t>(rows)) {}

  Step settled_through(RowId row) const { return settled_through_[static_cast<std::size_t>(row)]; }
  void settle(RowId row, Step through) {
    settled_through_[static_cast<std::size_t>(row)] = through;
  }

  void ask_for(RowId row) const { fetch(&settled_through_[static_cast<std::size_t>(row)]); }
  std::size_t bytes() const { return memory_.bytes(); }
  std::span<Step> steps() { return settled_through_; }
  std::span<const Step> steps() const { return settled_through_; }

 private:
  HugeMemory memory_;  // zeros: settled through "before training"
  std::span<Step> settled_through_;
};

}  // namespace lazydp
