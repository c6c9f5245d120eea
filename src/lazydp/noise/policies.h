#pragma once
// The noise policies, one row each: which rows receive which noise, and when.

#include <cstdint>
#include <span>
#include <string_view>

#include "lazydp/base/types.h"
#include "lazydp/embedding/table.h"
#include "lazydp/noise/policy.h"

namespace lazydp {

// The part of the noise it missed that a late row receives.
enum class Missed : std::uint8_t {
  nothing,    // weight decay alone
  this_step,  // the noise of the open step; earlier noise is never made up for
  each_step,  // the very noises that eager DP-SGD would have added, one by one
  aggregated  // one Gaussian with the variance of all of them
};

struct PolicyTraits {
  NoisePolicy policy;
  std::string_view name;      // in the Python package
  std::string_view in_words;  // in the output of `lazydp algorithms`
  Missed on_read;             // received by a row before it is read
  Missed on_gradient;         // received at once by a row that has a gradient
  bool writes_every_row;      // every row at every step, so that no row ever waits
  // Returns the rows, of a table that has `rows` of them, that settle at step t although nothing
  // reads them. May depend on nothing else: ranks that hold parts of the table must agree.
  RowRange (*in_turn)(Step t, RowId rows);

  // Returns whether every row receives the noise of every step, sooner or later: later steps may
  // then take back what earlier ones added.
  bool adds_all_noise() const {
    return on_read == Missed::each_step || on_read == Missed::aggregated;
  }

  bool adds_noise() const { return on_read != Missed::nothing || on_gradient != Missed::nothing; }

  // Returns whether rows wait for noise or decay until they are read; `decays`: weight decay is in
  // use.
  bool rows_wait(bool decays) const {
    return !writes_every_row && (on_read != Missed::nothing || decays);
  }
};

std::span<const PolicyTraits> policies();
const PolicyTraits& traits_of(NoisePolicy policy);

// Returns the rows of `table` whose turn it is at step t: of those of the whole table, the part
// here, numbered as here.
RowRange rows_in_turn(const PolicyTraits& policy, Step t, const Table& table);

}  // namespace lazydp
