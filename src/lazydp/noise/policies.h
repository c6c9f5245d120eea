#pragma once
// The noise policies, a row each: which rows receive which noise, and when.

#include <cstdint>
#include <span>
#include <string_view>

#include "lazydp/base/types.h"
#include "lazydp/embedding/table.h"
#include "lazydp/noise/policy.h"

namespace lazydp {

// What a late row receives of the noise that it missed.
enum class Missed : std::uint8_t {
  nothing,    // weight decay alone
  this_step,  // the noise of the open step; what was missed before is never made up for
  each_step,  // the very noises that eager DP-SGD would have added, one by one
  aggregated  // one Gaussian with the variance of all of them
};

struct PolicyTraits {
  NoisePolicy policy;
  std::string_view name;      // as the Python package takes it
  std::string_view in_words;  // as `lazydp algorithms` says it
  Missed on_read;             // what a row receives before it is read
  Missed on_gradient;         // what a row that has a gradient receives at once
  bool writes_every_row;      // at every step, so that no row ever waits
  // Rows that settle at step t although nothing reads them, of a table that has so many rows. May
  // depend on nothing else: ranks that hold parts of the table must agree.
  RowRange (*in_turn)(Step t, RowId rows);

  bool adds_noise() const { return on_read != Missed::nothing || on_gradient != Missed::nothing; }

  // Whether rows wait for something before they are read; `decays`: weight decay is in use.
  bool rows_wait(bool decays) const {
    return !writes_every_row && (on_read != Missed::nothing || decays);
  }
};

std::span<const PolicyTraits> policies();
const PolicyTraits& traits_of(NoisePolicy policy);

}  // namespace lazydp
