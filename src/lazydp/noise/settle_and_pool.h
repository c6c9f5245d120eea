#pragma once
// Reading a table as it should be read: rows settle and are pooled while they are in the cache.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "lazydp/base/matrix.h"
#include "lazydp/base/stages.h"
#include "lazydp/embedding/pooling.h"
#include "lazydp/noise/catch_up.h"
#include "lazydp/noise/noise_writer.h"
#include "lazydp/noise/table_optimizer.h"

namespace lazydp {

// One table's reading by one task: its memory, and what it cost, until that is booked.
class TableSettler {
 public:
  // Settles through owed.through() the rows that `bags` name, and pools them into `pooled`. Nobody
  // else may read or settle the table meanwhile: a row is claimed before it is settled.
  void settle_and_pool(Table& table, CatchUp& catch_up, NoiseWriter& writer,
                       const OwedThrough& owed, const Bags& bags, Pooling mode, MatrixView pooled);

  // Books the wall time of tasks that ran at once in the proportion of what they spent, and begins
  // anew.
  static void book(std::span<TableSettler> tables, StageClock& stages, RowTraffic& traffic);

 private:
  std::vector<LateRow> late_;  // kept from step to step for its memory
  std::uint64_t settled_ = 0;
  std::array<double, 3> seconds_{};  // finding, settling, pooling
};

}  // namespace lazydp
