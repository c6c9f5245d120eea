#pragma once
// Records through which step each row of a table has received its noise, in four bytes a row, and
// finds the rows that are late.

#include <cstddef>
#include <span>
#include <vector>

#include "lazydp/base/memory.h"
#include "lazydp/base/types.h"
#include "lazydp/embedding/table.h"
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

  void prefetch(RowId row) const {
    lazydp::prefetch(&settled_through_[static_cast<std::size_t>(row)]);
  }
  std::size_t bytes() const { return memory_.bytes(); }
  std::span<Step> steps() { return settled_through_; }
  std::span<const Step> steps() const { return settled_through_; }

 private:
  HugeMemory memory_;  // zeros: settled through "before training"
  std::span<Step> settled_through_;
};

// A row that is late.
struct LateRow {
  RowId id = 0;
  Step after = 0;  // it was settled through this step
};

// Prefetches the history of the first of `ids`, which the caller claims later. Claiming them
// prefetches the others in time.
void prefetch_ahead(const History& history, std::span<const RowId> ids);

// Appends to `late` the share's rows among `ids` that are not settled through t, each once, and
// marks them settled. `ids` may repeat: the history itself tells an id that was seen from one that
// was not, so one pass needs no sorting and no hashing. The caller owes the rows their noise, and
// claims them within a SettleGuard's run().
void claim_late_rows(History& history, Step t, std::span<const RowId> ids, Share share,
                     std::vector<LateRow>& late);

// Claims the late rows among first … last - 1 in the same way.
void claim_late_range(History& history, Step t, RowId first, RowId last,
                      std::vector<LateRow>& late);

// Appends those of the rows first … last - 1 that are not settled through t, and marks nothing.
void find_late_range(const History& history, Step t, RowId first, RowId last,
                     std::vector<LateRow>& late);

}  // namespace lazydp
