#include "lazydp/random/noise_source.h"

#include <algorithm>
#include <bit>
#include <string>

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

constexpr int kMaxBlockBits = 43;  // of one key; refinements at most double it
constexpr int kMaxStepBits = 10;   // a key serves at most 1,024 steps

RowCounters counters_of(Cell cell) {
  const Counter first = first_block(cell);
  cell.draw = 1;
  const Counter refined = first_block(cell);
  check(first.high == refined.high, "the draw index lies in the low word");
  return {.high = first.high, .low = first.low, .refined_low = refined.low, .row_unit = kRowUnit};
}

// How many low bits of the step number share a key.
int step_bits(RowId rows, std::size_t dim) {
  const auto blocks = static_cast<std::uint64_t>(rows) * ((dim + 15) / 16 * 4);
  const int spare = kMaxBlockBits - static_cast<int>(std::bit_width(blocks));
  if (spare < 0) {
    throw UserError("a table of " + std::to_string(rows) + " rows x " + std::to_string(dim) +
                    " is too large for one noise key; split it into several tables");
  }
  return std::min(spare, kMaxStepBits);
}

}  // namespace

NoiseCells NoiseSource::table(TableId table, RowId rows, std::size_t dim, Draws draws,
                              Step t) const {
  return {.key = seed_.derive(Purpose::table_noise, table, t >> step_bits(rows, dim)),
          .counters = counters_of(
              {.purpose = Purpose::table_noise, .draws = draws, .table = table, .step = t})};
}

NoiseCells NoiseSource::dense(Step t) const {
  return {.key = seed_.derive(Purpose::dense_noise, 0, t >> kMaxStepBits),
          .counters = counters_of({.purpose = Purpose::dense_noise, .step = t})};
}

}  // namespace lazydp
