#pragma once
// A table whose memory is somebody else's tensor, and how it takes a step.

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "lazydp/embedding/pooling.h"
#include "lazydp/embedding/table.h"
#include "lazydp/noise/history.h"
#include "lazydp/noise/policy.h"
#include "lazydp/noise/variance_clock.h"
#include "lazydp/random/noise_source.h"

namespace lazydp {

// The borrowed memory of one table.
struct TableMemory {
  TableId id = 0;
  std::span<float> weights;
  std::span<float> momentum;  // empty: the optimizer has none
  std::size_t dim = 0;
  std::optional<RowId> padding;  // a row that receives neither gradients nor noise
};

// Calls from several threads wait for each other. A row that is settled through the open step does
// not move again until the next step, so whoever has settled rows may read them without waiting.
class BoundTable {
 public:
  virtual ~BoundTable() = default;

  void apply(Step t, const TableGradient& gradient);
  void settle(Step t, std::span<const RowId> ids);
  void settle_all(Step t);

  // Every row counts as settled through t: its weights have just been replaced.
  void forget_debts(Step t);
  bool all_settled(Step t);

  RowId rows() const { return weights_.rows(); }
  std::size_t dim() const { return weights_.dim(); }

 protected:
  explicit BoundTable(const TableMemory& memory);

  virtual void take_step(Step t, const TableGradient& gradient) = 0;
  virtual void catch_up(Step t, std::span<const RowId> ids) = 0;
  virtual void catch_up_all(Step t) = 0;
  virtual History* history() = 0;  // null where no row ever waits

  Table weights_;

 private:
  // Calls body() and leaves the padding row as it was.
  template <class Body>
  void but_for_padding(Body&& body);

  std::optional<RowId> padding_;
  std::mutex guard_;
};

// Plain SGD, with weight decay or without; `decays`: whether weight decay is in use.
std::unique_ptr<BoundTable> bind_table(NoisePolicy policy, const TableMemory& memory,
                                       const VarianceClock& clock, const NoiseSource& noise,
                                       bool decays);

// SGD with momentum.
std::unique_ptr<BoundTable> bind_table(NoisePolicy policy, const TableMemory& memory,
                                       const MomentumClock& clock, const NoiseSource& noise);

}  // namespace lazydp
