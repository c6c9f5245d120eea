#pragma once
// Brings a batch the rows that it names, and returns their gradients to them, on whichever rank
// they are.

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>
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

class RowExchange;

// A state of an exchange, from which only the next call can be made. A handle serves once: a call
// uses it up, and calling one that is used up, or was made by default, is an InternalError.
class ExchangeHandle {
 public:
  ExchangeHandle(ExchangeHandle&& other) noexcept
      : exchange_(std::exchange(other.exchange_, nullptr)), step_(other.step_) {}
  ExchangeHandle& operator=(ExchangeHandle&& other) noexcept {
    exchange_ = std::exchange(other.exchange_, nullptr);
    step_ = other.step_;
    return *this;
  }

  // Returns whether the next call is still to be made.
  explicit operator bool() const { return exchange_ != nullptr; }

 protected:
  ExchangeHandle() = default;
  ExchangeHandle(RowExchange& exchange, Step step) : exchange_(&exchange), step_(step) {}
  ~ExchangeHandle() = default;

  RowExchange& exchange() const;
  RowExchange& use_up();
  Step step() const { return step_; }

 private:
  RowExchange* exchange_ = nullptr;
  Step step_ = 0;
};

// The gradients of tables are on their way to the rows.
class SentGradients : public ExchangeHandle {
 public:
  SentGradients() = default;

  // Returns the gradients that the rows of the tables here receive from all ranks, valid until the
  // rows of the step after the next are asked for.
  std::span<const TableGradient> receive(StageClock& stages) &&;

 private:
  friend class PooledRows;
  SentGradients(RowExchange& exchange, Step step) : ExchangeHandle(exchange, step) {}
};

// The batch has its pooled vectors, and the rows wait for their gradients. An evaluation ends here.
class PooledRows : public ExchangeHandle {
 public:
  // Sends the gradients of tables, one for each table of the batch, on their way to the rows.
  [[nodiscard]] SentGradients send(std::span<const TableGradient> tables, StageClock& stages) &&;

 private:
  friend class RequestedRows;
  PooledRows(RowExchange& exchange, Step step) : ExchangeHandle(exchange, step) {}
};

// The ranks that hold them are being told which rows a batch names.
class RequestedRows : public ExchangeHandle {
 public:
  RequestedRows() = default;

  // Returns the rows of the tables here that some rank requested, table by table, ready to be
  // settled. Rows are numbered as in the tables here. Does not use up the handle.
  std::span<const Ids> rows(StageClock& stages) const;

  // Settles the requested rows through `through`, on the ranks that hold them; then
  // pooled[k].row(i) = bag i of table k. `batch` is the one that was asked for, `optimizer` that of
  // the tables here. `meanwhile` is work for the time in which vectors are on their way; an
  // exchange that does not wait leaves it undone.
  PooledRows settle_and_pool(Step through, const Batch& batch, TableOptimizer& optimizer,
                             std::span<const MatrixView> pooled, StageClock& stages,
                             const std::function<void()>& meanwhile) &&;

 private:
  friend class RowExchange;
  RequestedRows(RowExchange& exchange, Step step) : ExchangeHandle(exchange, step) {}
};

// Dense gradients are being added up over all ranks.
class PendingSum : public ExchangeHandle {
 public:
  // Completes the sum: the dense gradient is that of all ranks. Returns the sum of the tallies.
  Tallies finish(StageClock& stages) &&;

 private:
  friend class RowExchange;
  PendingSum(RowExchange& exchange, Step step) : ExchangeHandle(exchange, step) {}
};

// Each call returns the handle from which the next one is made, so that a step can make them in one
// order only. Every rank makes the same calls with its own part of the batch. The time that calls
// wait is booked as Stage::exchange.
class RowExchange {
 public:
  virtual ~RowExchange() = default;

  // Returns the communication thread to the other ranks; with a single rank its jobs run at once.
  virtual CommThread& comm() = 0;

  // Returns whether it pays to request the rows of step t + 1 while step t is computed.
  virtual bool asks_ahead() const = 0;

  // Tells the ranks that hold them which rows the batch of step t names: once for each step, and
  // for the step after this one at most. An evaluation has step 0.
  [[nodiscard]] RequestedRows ask(Step t, const Batch& batch, StageClock& stages) {
    request(t, batch, stages);
    return {*this, t};
  }

  // Starts to add up the dense gradient, and the tallies, over all ranks.
  [[nodiscard]] PendingSum begin_sum(std::span<float> dense, const Tallies& tallies) {
    start_sum(dense, tallies);
    return {*this, 0};
  }

 private:
  friend SentGradients;
  friend PooledRows;
  friend RequestedRows;
  friend PendingSum;

  // The parts of the protocol. Only the calls above and those of the handles call them, in order.
  virtual void request(Step t, const Batch& batch, StageClock& stages) = 0;
  virtual std::span<const Ids> requested(Step t, StageClock& stages) = 0;
  virtual void settle_and_pool(Step t, Step through, const Batch& batch, TableOptimizer& optimizer,
                               std::span<const MatrixView> pooled, StageClock& stages,
                               const std::function<void()>& meanwhile) = 0;
  virtual void send(Step t, std::span<const TableGradient> tables, StageClock& stages) = 0;
  virtual std::span<const TableGradient> receive(Step t, StageClock& stages) = 0;
  virtual void start_sum(std::span<float> dense, const Tallies& tallies) = 0;
  virtual Tallies finish_sum(StageClock& stages) = 0;
};

// All rows are on this rank, in memory or in files: rows in files are put where they can be read
// and written before any read or write.
class LocalExchange final : public RowExchange {
 public:
  LocalExchange(Pooling pooling, const TableStorage& storage)
      : pooling_(pooling), storage_(storage) {}

  CommThread& comm() override { return comm_; }
  bool asks_ahead() const override { return storage_.in_files(); }

 private:
  void request(Step t, const Batch& batch, StageClock& stages) override;
  std::span<const Ids> requested(Step t, StageClock& stages) override;
  void settle_and_pool(Step t, Step through, const Batch& batch, TableOptimizer& optimizer,
                       std::span<const MatrixView> pooled, StageClock& stages,
                       const std::function<void()>& meanwhile) override;
  void send(Step, std::span<const TableGradient> tables, StageClock&) override {
    gradients_ = tables;
  }
  std::span<const TableGradient> receive(Step, StageClock&) override { return gradients_; }
  void start_sum(std::span<float>, const Tallies& tallies) override { tallies_ = tallies; }
  Tallies finish_sum(StageClock&) override { return tallies_; }

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
