#pragma once
// Who carries draws out: fused in one pass over a row, or in the paper's stages, timed apart.

#include <atomic>
#include <memory>

#include "lazydp/base/stages.h"
#include "lazydp/noise/catch_up.h"
#include "lazydp/random/noise_source.h"

namespace lazydp {

enum class NoisePasses : unsigned char { fused, split };

// Tasks of one parallel loop call settle() and sweep() at once; afterwards the loop's wall time is
// booked by lap().
class NoiseWriter {
 public:
  virtual ~NoiseWriter() = default;

  // Brings late rows of one table up to date.
  virtual void settle(Table& table, const CatchUp& how, const OwedThrough& owed,
                      std::span<const LateRow> late) = 0;

  // Rows [first, last) <- shrink * row + noise of step t: eager DP-SGD.
  virtual void sweep(Table& table, const OwedThrough& owed, RowId first, RowId last) = 0;

  virtual void lap(StageClock& stages) = 0;
};

std::unique_ptr<NoiseWriter> make_noise_writer(NoisePasses kernels, const NoiseSource& noise);

}  // namespace lazydp
