#pragma once
// Brings a batch the rows that it names, and returns their gradients to them, on whichever rank
// they are.

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "lazydp/base/matrix.h"
#include "lazydp/base/stages.h"
#include "lazydp/base/types.h"
#include "lazydp/clip/gradient_method.h"
#include "lazydp/data/batch.h"
#include "lazydp/embedding/storage/table_files.h"
#include "lazydp/noise/table_optimizer.h"
#include "lazydp/shard/comm_thread.h"

namespace lazydp {

// Numbers of each rank, added up over ranks with the gradients of a step.
using Tallies = std::array<float, 4>;

// A step makes the calls from top to bottom; an evaluation, whose step is 0, down to
// settle_and_pool(). Every rank makes the same calls with its own part of the batch. The time that
// calls wait is booked as Stage::exchange.
class RowExchange {
 public:
  virtual ~RowExchange() = default;

  // Returns the communication thread to the other ranks; with a single rank its jobs run at once.
  virtual CommThread& comm() = 0;

  // Returns whether it pays to request the rows of step t + 1 while step t is computed.
  virtual bool asks_ahead() const = 0;

  // Tells the ranks that hold them which rows the batch of step t names; does nothing if they
  // already know.
  virtual void ask(Step t, const Batch& batch, StageClock& stages) = 0;

  // Returns the rows of the tables here that some rank requested for step t, table by table, ready
  // to be settled. Rows are numbered as in the tables here.
  virtual std::span<const Ids> asked(Step t, StageClock& stages) = 0;

  // Settles through `through` the rows that were requested for step t, on the ranks that hold them;
  // then pooled[k].row(i) = bag i of table k. `optimizer` is that of the tables here. `meanwhile`
  // is work for the time in which vectors are on their way; an exchange that does not wait leaves
  // it undone.
  virtual void settle_and_pool(Step t, Step through, const Batch& batch, TableOptimizer& optimizer,
                               std::span<const MatrixView> pooled, StageClock& stages,
                               const std::function<void()>& meanwhile) = 0;

  // Sends the gradients of tables on their way to the rows.
  virtual void send(Step t, const Batch& batch, std::span<const TableGradient> tables,
                    StageClock& stages) = 0;

  // Starts to add up the dense gradient, and the tallies, over all ranks.
  virtual void begin_sum(std::span<float> dense, const Tallies& tallies) = 0;

  // Returns the gradients that the rows of the tables here receive from all ranks.
  virtual std::span<const TableGradient> received(Step t, StageClock& stages) = 0;

  // Completes the sum: the dense gradient is that of all ranks. Returns the sum of the tallies.
  virtual Tallies end_sum(StageClock& stages) = 0;
};

// All rows are on this rank, in memory or in files: rows in files are put where they can be read
// and written before any read or write.
class LocalExchange final : public RowExchange {
 public:
  LocalExchange(Pooling pooling, const TableStorage& storage)
      : pooling_(pooling), storage_(storage) {}

  CommThread& comm() override { return comm_; }
  bool asks_ahead() const override { return storage_.in_files(); }
  void ask(Step t, const Batch& batch, StageClock& stages) override;
  std::span<const Ids> asked(Step t, StageClock& stages) override;
  void settle_and_pool(Step t, Step through, const Batch& batch, TableOptimizer& optimizer,
                       std::span<const MatrixView> pooled, StageClock& stages,
                       const std::function<void()>& meanwhile) override;
  void send(Step, const Batch&, std::span<const TableGradient> tables, StageClock&) override {
    gradients_ = tables;
  }
  void begin_sum(std::span<float>, const Tallies& tallies) override { tallies_ = tallies; }
  std::span<const TableGradient> received(Step, StageClock&) override { return gradients_; }
  Tallies end_sum(StageClock&) override { return tallies_; }

 private:
  struct Asked {
    Step step = 0;
    std::vector<Ids> ids;
  };
  Asked& slot(Step t) { return asked_[t == 0 ? 2 : t % 2]; }

  Pooling pooling_;
  TableStorage storage_;
  CommThread comm_{alone()};
  std::array<Asked, 3> asked_;  // one for even and one for odd steps, and one for an evaluation
  std::span<const TableGradient> gradients_;
  Tallies tallies_{};
};

}  // namespace lazydp
