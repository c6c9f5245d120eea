#pragma once
// Adds draws to rows: fused in one pass over a row, or in the paper's stages, each timed.

#include <atomic>
#include <memory>

#include "lazydp/base/stages.h"
#include "lazydp/noise/catch_up.h"
#include "lazydp/random/noise_source.h"

namespace lazydp {

enum class NoisePasses : unsigned char { fused, split };

// Adds noise to rows. Tasks of one parallel loop may call settle() and sweep() concurrently; lap()
// then books the loop's wall time.
class NoiseWriter {
 public:
  virtual ~NoiseWriter() = default;

  // Brings late rows of one table up to date.
  virtual void settle(Table& table, const CatchUp& how, const OwedThrough& owed,
                      std::span<const LateRow> late) = 0;

  // Sets rows [first, last), which are settled through the step before, to shrink * row + noise of
  // step owed.through(), as eager DP-SGD does.
  virtual void sweep(Table& table, const CatchUp& how, const OwedThrough& owed, RowId first,
                     RowId last) = 0;

  virtual void lap(StageClock& stages) = 0;
};

std::unique_ptr<NoiseWriter> make_noise_writer(NoisePasses passes, const NoiseSource& noise);

}  // namespace lazydp
