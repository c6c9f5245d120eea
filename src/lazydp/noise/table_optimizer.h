#pragma once
// The interface through which the trainer, exchanges and engines take steps of a model's tables.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/matrix.h"
#include "lazydp/base/stages.h"
#include "lazydp/base/types.h"
#include "lazydp/embedding/pooling.h"
#include "lazydp/embedding/table.h"
#include "lazydp/noise/correlation.h"
#include "lazydp/noise/noise_writer.h"
#include "lazydp/noise/policy.h"
#include "lazydp/noise/variance_clock.h"
#include "lazydp/random/noise_source.h"

namespace lazydp {

// Refuses every use of tables in which settling has failed part-way.

// A row is claimed (its history says that it is settled) before it receives its noise. If memory
// runs out in between, or anything else is thrown, rows count as settled whose noise is lost, and
// others may have been written in part: their former values are gone.
//
// Invariant: once a pass has failed, require_whole() throws for ever. Every function that reads,
// writes, saves or releases rows calls it first. A pass that succeeds costs nothing.
class SettleGuard {
 public:
  // Throws InternalError if a pass has failed.
  void require_whole() const {
    if (whole_) return;
    throw InternalError(
        "an earlier failure, for example memory that ran out, came while rows were receiving "
        "their noise: some count as settled and are not, so these tables can no longer be read, "
        "trained, saved or released; go on from the last checkpoint");
  }

  // Calls `pass`, which claims rows and settles them or writes them in another way. An exception it
  // throws reaches the caller.
  template <class Pass>
  void run(Pass&& pass) {
    require_whole();
    try {
      pass();
    } catch (...) {
      whole_ = false;
      throw;
    }
  }

 private:
  bool whole_ = true;
};

using Ids = std::span<const RowId>;  // rows of one table; they may repeat

// Row accesses of all tables, so far.
struct RowTraffic {
  std::uint64_t read = 0;
  std::uint64_t written = 0;
};

// A part of what a rule remembers of a table: a float for each of its weights.
struct TableState {
  std::string_view name;  // in checkpoints
  std::span<float> values;
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

  // Settles through t the rows that `bags` name (those of table k in bags[k]) and pools them into
  // pooled[k].
  virtual void settle_and_pool(Step t, std::span<const Bags> bags, Pooling mode,
                               std::span<const MatrixView> pooled, StageClock& stages) = 0;

  // On return every row is settled through t. `progress`, if set, is called with the number of rows
  // done.
  virtual void settle_all(Step t, const std::function<void(std::uint64_t rows)>& progress = {}) = 0;

  // The caller has copied rows first … last - 1 of table k into `window`. On return the window
  // holds what settling them through t would make of them; the rows themselves still wait.
  virtual void settle_copy(Step t, std::size_t table, RowId first, RowId last, Table& window) = 0;

  // Returns through which step each row of table k is settled; empty where no row ever waits.
  // Throws InternalError if settling has failed part-way.
  virtual std::span<Step> settled_through(std::size_t table) = 0;

  // Returns what the rule remembers of table k besides its weights, a float for each weight in each
  // state; a momentum waits for noise as the weights do.
  virtual std::vector<TableState> state(std::size_t table) = 0;

  virtual std::size_t bytes() const = 0;  // memory besides the tables

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

// Rules of torch.optim, with its default coefficients. Noise may wait only under those that are
// linear in the gradient; Adam and Adagrad, as torch.optim.SparseAdam and Adagrad with sparse
// gradients, are for tables that receive none.
enum class TableRule : std::uint8_t { sgd, momentum, adam, adagrad };

inline constexpr std::array<std::pair<std::string_view, TableRule>, 4> kTableRules = {
    {{"sgd", TableRule::sgd},
     {"momentum", TableRule::momentum},
     {"adam", TableRule::adam},
     {"adagrad", TableRule::adagrad}}};

std::string_view table_rule_name(TableRule rule);

// Returns whether steps of the rule are linear in the gradient.
inline bool linear(TableRule rule) {
  return rule == TableRule::sgd || rule == TableRule::momentum;
}

// Returns how many floats a rule remembers for each weight.
std::size_t state_floats(TableRule rule);

// The momentum of a native run: torch.optim.SGD(momentum=0.9).
inline constexpr double kTableMomentum = 0.9;

// An optimizer and the clock by which it settles.
struct ClockedTables {
  std::unique_ptr<StepClock> clock;
  std::unique_ptr<TableOptimizer> optimizer;
};

// Chooses an optimizer of tables.
struct TableOptimizerOptions {
  TableRule rule = TableRule::sgd;
  NoisePolicy policy = NoisePolicy::lazy_aggregated;
  WeightDecay decay = WeightDecay::off;  // whether any step will decay weights
  NoisePasses passes = NoisePasses::fused;
  Correlation correlation = {};              // of the noise of steps; independent under momentum
  std::span<const std::size_t> frozen = {};  // tables that keep their weights, ascending
};

// Makes the clock of such optimizers.
std::unique_ptr<StepClock> make_clock(const TableOptimizerOptions& options);

// Makes an optimizer and its clock. `tables` and `noise` must outlive them. What the rule remembers
// begins at zero. Rules that are not linear take tables without noise and weight decay only.
ClockedTables make_table_optimizer(const TableOptimizerOptions& options, std::span<Table> tables,
                                   const NoiseSource& noise);

}  // namespace lazydp
