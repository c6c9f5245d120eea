#pragma once
// Settles rows and pools them while they are in the cache.

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

// Reads one table for one task. Holds the task's memory, and the time and traffic it cost until
// they are booked.
class TableSettler {
 public:
  // Settles through owed.through() the rows that `bags` name, and pools them into `pooled`. No
  // other thread may read or settle the table meanwhile: a row is claimed before it is settled.
  void settle_and_pool(Table& table, WaitingRows& waiting, NoiseWriter& writer,
                       const OwedThrough& owed, const Bags& bags, Pooling mode, MatrixView pooled);

  // Settles the share's rows among `ids`, for a table that several tasks settle before any reads
  // it.
  void settle(Table& table, WaitingRows& waiting, NoiseWriter& writer, const OwedThrough& owed,
              std::span<const RowId> ids, Share share);

  // Books the wall time of tasks that ran concurrently in the proportion of the time each spent,
  // and resets their figures.
  static void book(std::span<TableSettler> tables, StageClock& stages, RowTraffic& traffic);

 private:
  void settle_run(Table& table, WaitingRows& waiting, NoiseWriter& writer, const OwedThrough& owed,
                  std::span<const RowId> ids, std::span<const RowId> next, Share share);

  std::vector<LateRow> late_;  // reused from step to step
  std::uint64_t settled_ = 0;
  std::array<double, 3> seconds_{};  // finding, settling, pooling
};

}  // namespace lazydp
