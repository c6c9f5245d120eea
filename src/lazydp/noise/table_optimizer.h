#pragma once
// How the tables of a model take steps: what the trainer, exchanges and engines know of it.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "lazydp/base/matrix.h"
#include "lazydp/base/stages.h"
#include "lazydp/base/types.h"
#include "lazydp/embedding/pooling.h"
#include "lazydp/embedding/table.h"
#include "lazydp/noise/noise_writer.h"
#include "lazydp/noise/policy.h"
#include "lazydp/noise/settle_guard.h"
#include "lazydp/noise/variance_clock.h"
#include "lazydp/random/noise_source.h"

namespace lazydp {

using Ids = std::span<const RowId>;  // of one table; they may repeat

// Row accesses of tables, so far.
struct RowTraffic {
  std::uint64_t read = 0;
  std::uint64_t written = 0;
};

// Invariant: a row that has been settled through t carries all the noise and all the drift (weight
// decay, momentum) of steps 1 … t. A row must be settled through t before step t + 1, or an
// evaluation after step t, reads it, and before it leaves the trainer. Should settling fail
// part-way, every later call that depends on it throws InternalError.
class TableOptimizer {
 public:
  virtual ~TableOptimizer() = default;

  // Takes the open step t: gradients[k] is that of table k, whose rows were settled through t - 1.
  virtual void apply(Step t, std::span<const TableGradient> gradients, StageClock& stages) = 0;

  // On return every row that `ids` names (those of table k in ids[k]) is settled through t.
  virtual void settle(Step t, std::span<const Ids> ids, StageClock& stages) = 0;

  // Settles through t what `bags` name (those of table k in bags[k]) and pools it into pooled[k].
  virtual void settle_and_pool(Step t, std::span<const Bags> bags, Pooling mode,
                               std::span<const MatrixView> pooled, StageClock& stages) = 0;

  // On return every row is settled through t. `progress`, if any, hears how many rows were done.
  virtual void settle_all(Step t, const std::function<void(std::uint64_t rows)>& progress = {}) = 0;

  // `window` holds rows first … last - 1 of table k as they are. On return it holds what settling
  // them through t would make of them; they themselves still wait.
  virtual void settle_copy(Step t, std::size_t table, RowId first, RowId last, Table& window) = 0;

  // Through which step each row of table k is settled; empty where no row ever waits. Throws
  // InternalError if settling has failed part-way.
  virtual std::span<Step> settled_through(std::size_t table) = 0;

  // What the optimizer remembers of each weight of table k besides it; empty if nothing. It waits
  // for noise as the weights do.
  virtual std::span<float> momentum(std::size_t table) = 0;

  virtual std::size_t bytes() const = 0;  // of memory beside the tables

  bool all_settled(Step t);

  // Throws InternalError if settling has failed part-way: for callers that save or release tables.
  void require_whole() const { guard_.require_whole(); }

  const RowTraffic& traffic() const { return traffic_; }

 protected:
  explicit TableOptimizer(std::span<Table> tables) : tables_(tables) {}

  std::span<Table> tables_;
  RowTraffic traffic_;
  SettleGuard guard_;
};

// The rules under which noise may wait: those that are linear in the gradient.
enum class TableRule : std::uint8_t { sgd, momentum };

std::string_view table_rule_name(TableRule rule);

// Of a native run, as torch.optim.SGD(momentum=0.9) has it.
inline constexpr double kTableMomentum = 0.9;

// An optimizer and the clock that it settles by.
struct ClockedTables {
  std::unique_ptr<StepClock> clock;
  std::unique_ptr<TableOptimizer> optimizer;
};

// What an optimizer of tables is made for.
struct TableOptimizerOptions {
  TableRule rule = TableRule::sgd;
  NoisePolicy policy = NoisePolicy::lazy_aggregated;
  WeightDecay decay = WeightDecay::off;  // whether steps will have any
  NoisePasses passes = NoisePasses::fused;
};

// `tables` and `noise` outlive what is returned. Momenta, if the rule has them, begin at zero.
ClockedTables make_table_optimizer(const TableOptimizerOptions& options, std::span<Table> tables,
                                   const NoiseSource& noise);

}  // namespace lazydp
