#pragma once
// An exchange between ranks: requests rows, receives them as pooled vectors, and returns their
// gradients.

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "lazydp/base/matrix.h"
#include "lazydp/shard/comm_thread.h"
#include "lazydp/shard/communicator.h"
#include "lazydp/shard/row_exchange.h"
#include "lazydp/shard/row_request.h"

namespace lazydp {

// One buffer of the vectors that travel between ranks: a block for each rank and table.

// The blocks lie rank after rank; a block that does not travel has no floats.
class ExchangeBuffers {
 public:
  // Lays out the blocks: floats(p, k) is the size of the block of rank p and table k.
  template <class Floats>
  void lay_out(int ranks, std::size_t tables, Floats&& floats) {
    tables_ = tables;
    counts_.assign(static_cast<std::size_t>(ranks), 0);
    offsets_.clear();
    std::size_t end = 0;
    for (int p = 0; p < ranks; ++p) {
      const std::size_t begin = end;
      for (std::size_t k = 0; k < tables; ++k) {
        offsets_.push_back(end);
        end += floats(p, k);
      }
      counts_[static_cast<std::size_t>(p)] = end - begin;
    }
    values_.reserve(end + 1);
  }

  float* block(int p, std::size_t k) {
    return values_.data() + offsets_[static_cast<std::size_t>(p) * tables_ + k];
  }
  Slices<float> slices() { return {values_.data(), counts_}; }
  Slices<const float> slices() const { return {values_.data(), counts_}; }

 private:
  std::size_t tables_ = 0;
  std::vector<std::size_t> offsets_;
  std::vector<std::size_t> counts_;
  AlignedBuffer values_;
};

// A row has one owner, which settles, reads and updates it; the examples of a bag have one home
// rank, which has all of their gradients, so that norms need no other rank. All copies of small
// tables are settled and updated alike, with gradients that are added up.
class RankExchange final : public RowExchange {
 public:
  // `ranks`, `layout` and `tables` (this rank's) must outlive the exchange.
  RankExchange(Communicator& ranks, const Layout& layout, std::span<Table> tables, Pooling pooling);

  CommThread& comm() override { return comm_; }
  bool asks_ahead() const override { return true; }

 private:
  void request(Step t, const Batch& batch, StageClock& stages) override;
  std::span<const Ids> requested(Step t, StageClock& stages) override;
  void settle_and_pool(Step t, Step through, const Batch& batch, TableOptimizer& optimizer,
                       std::span<const MatrixView> pooled, StageClock& stages,
                       const std::function<void()>& meanwhile) override;
  void send(Step t, std::span<const TableGradient> tables, StageClock& stages) override;
  std::span<const TableGradient> receive(Step t, StageClock& stages) override;
  void start_sum(std::span<float> dense, const Tallies& tallies) override;
  Tallies finish_sum(StageClock& stages) override;

  // A request that was sent, or that has been decoded.
  struct Asked {
    RowRequest request;
    CommThread::Ticket ticket = 0;
    bool decoded = false;
    std::vector<Ids> ids = {};
  };

  Asked& slot(Step t) { return asked_[t == 0 ? 2 : t % 2]; }
  RowRequest& decoded(Step t, StageClock& stages);
  // Calls visit(k, p) for every cut table and every other rank, on several threads.
  template <class Visit>
  void for_others(Visit&& visit) const;
  void pack_pooled(const RowRequest& request);
  void join_fragments(const RowRequest& request, std::size_t k, const Bags& bags,
                      MatrixView pooled);
  void pack(const RowRequest& request, std::size_t k, const TableGradient& gradient);
  void add_copied(const RowRequest& request, std::size_t k, const TableGradient& gradient);
  float share_of(const Bags& bags, std::size_t bag) const;

  CommThread comm_;
  const Layout& layout_;
  std::span<Table> tables_;
  Pooling pooling_;
  std::array<Asked, 3> asked_;  // one for even and one for odd steps, and one for an evaluation

  // One matrix for each table, with a vector for each bag that is requested from this rank: pooled,
  // then its gradient.
  std::vector<Matrix> vectors_;
  std::vector<MatrixView> views_;
  ExchangeBuffers at_owner_;   // vectors of other ranks' bags, on their way
  ExchangeBuffers at_home_;    // vectors of the fragments that this rank requested from others
  std::vector<float> copied_;  // gradients of copied tables' rows
  std::vector<std::size_t> copied_begin_;
  std::vector<TableGradient> gradients_;
  Tallies tallies_{};
  CommThread::Ticket gradients_ticket_ = 0;
  CommThread::Ticket sum_ticket_ = 0;
};

}  // namespace lazydp
