#pragma once
// How the tables of a model take a step: gradients now, noise when the policy says.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "lazydp/base/stages.h"
#include "lazydp/embedding/pooling.h"
#include "lazydp/embedding/table.h"
#include "lazydp/noise/catch_up.h"
#include "lazydp/noise/noise_writer.h"
#include "lazydp/noise/policy.h"
#include "lazydp/noise/settle_and_pool.h"
#include "lazydp/noise/settle_guard.h"
#include "lazydp/noise/variance_clock.h"
#include "lazydp/random/noise_source.h"

namespace lazydp {

using Ids = std::span<const RowId>;  // of one table; they may repeat

// Invariant: a row that has been settled through t carries all the noise and all the weight decay
// of steps 1 … t. A row must be settled through t before step t + 1, or an evaluation after step t,
// reads it, and before it leaves the trainer. A policy is which of three parts a table has. Should
// settling fail part-way, every later call that depends on it throws InternalError.
class TableUpdates {
 public:
  // `tables`, `clock` and `noise` outlive this. `decays`: whether weight decay is in use.
  TableUpdates(NoisePolicy policy, std::span<Table> tables, const VarianceClock& clock,
               const NoiseSource& noise, bool decays, Kernels kernels = Kernels::fused);

  // Takes the open step t: gradients[k] is that of table k, whose rows were settled through t - 1.
  void apply(Step t, std::span<const TableGradient> gradients, StageClock& stages);

  // On return every row that `ids` names (those of table k in ids[k]) is settled through t.
  void settle(Step t, std::span<const Ids> ids, StageClock& stages);

  // Settles through t what `bags` name (those of table k in bags[k]) and pools it into pooled[k].
  void read(Step t, std::span<const Bags> bags, Pooling mode, std::span<const MatrixView> pooled,
            StageClock& stages);

  // On return every row is settled through t. `progress`, if any, hears how many rows were done.
  void settle_all(Step t, const std::function<void(std::uint64_t rows)>& progress = {});

  // `window` holds rows first … last - 1 of table k as they are. On return it holds what settling
  // them through t would make of them; they themselves still wait.
  void settle_copy(Step t, std::size_t table, RowId first, RowId last, Table& window);

  bool all_settled(Step t) const;

  // Throws InternalError if settling has failed part-way: for who saves or releases the tables.
  void require_whole() const { guard_.require_whole(); }

  const RowTraffic& traffic() const { return traffic_; }  // so far
  std::size_t bytes() const;                              // of memory beside the tables

  // Of table k; null where no row ever waits.
  History* history(std::size_t table);

 private:
  struct Update {
    std::unique_ptr<CatchUp> on_read;      // what rows are owed before they are read
    std::unique_ptr<CatchUp> on_gradient;  // what rows with a gradient are owed at once
  };
  // The rows of one task, kept from step to step for their memory.
  struct Late {
    std::size_t table = 0;
    std::vector<LateRow> rows;
  };

  void take_step(Step t, std::span<const TableGradient> gradients, StageClock& stages);
  void catch_up(std::unique_ptr<CatchUp> Update::*part, Step t, std::span<const Ids> ids,
                StageClock& stages);
  void sweep_all(Step t, StageClock& stages);

  std::span<Table> tables_;
  const VarianceClock& clock_;
  std::unique_ptr<NoiseWriter> writer_;
  bool every_row_;
  bool fused_;  // rows are pooled while what settled them is still in the cache
  std::vector<Update> updates_;
  std::vector<Late> late_;
  std::vector<Ids> with_gradient_;
  std::vector<Ids> to_read_;
  std::vector<TableReading> reading_;
  RowTraffic traffic_;
  SettleGuard guard_;
};

}  // namespace lazydp
