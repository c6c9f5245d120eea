#pragma once
// How a batch reaches the rows that it names, and its gradients reach them back, whoever holds
// them.

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

// Numbers that every rank has, to be added up with the gradients of a step.
using Tallies = std::array<float, 4>;

// A step calls from top to bottom; an evaluation, whose step is 0, down to read(). Every rank makes
// the same calls with its own part of the batch. What the calls wait for is booked as
// Stage::exchange.
class RowExchange {
 public:
  virtual ~RowExchange() = default;

  // The way to the other ranks, if there are any.
  virtual CommThread& comm() = 0;

  // Whether it is worth asking for the rows of step t + 1 while step t is computed.
  virtual bool asks_ahead() const = 0;

  // Tells whoever holds them which rows the batch of step t names; nothing happens if they know.
  virtual void ask(Step t, const Batch& batch, StageClock& stages) = 0;

  // The rows here that somebody asked for in step t, table by table, ready to be settled. Rows are
  // numbered as in the tables here.
  virtual std::span<const Ids> asked(Step t, StageClock& stages) = 0;

  // Settles through `through` what was asked for in step t, on the ranks that hold it; then
  // pooled[k].row(i) = bag i of table k. `optimizer` is that of the tables here. `meanwhile` is
  // work for the time in which vectors are on their way; an exchange that does not wait leaves it
  // undone.
  virtual void settle_and_pool(Step t, Step through, const Batch& batch, TableOptimizer& optimizer,
                               std::span<const MatrixView> pooled, StageClock& stages,
                               const std::function<void()>& meanwhile) = 0;

  // Sends the gradients of tables on their way to the rows.
  virtual void send(Step t, const Batch& batch, std::span<const TableGradient> tables,
                    StageClock& stages) = 0;

  // Starts to add up the dense gradient, and some numbers, over all ranks.
  virtual void begin_sum(std::span<float> dense, const Tallies& tallies) = 0;

  // What the rows of the tables here receive from all ranks.
  virtual std::span<const TableGradient> received(Step t, StageClock& stages) = 0;

  // Afterwards the dense gradient is the sum. Returns that of the tallies.
  virtual Tallies end_sum(StageClock& stages) = 0;
};

// Everything is here, in memory or in files: rows in files are put where they can be read and
// written before anybody does.
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
  std::array<Asked, 3> asked_;  // of even and odd steps, and of an evaluation
  std::span<const TableGradient> gradients_;
  Tallies tallies_{};
};

}  // namespace lazydp
