#pragma once
// The address of a random draw. Only this file knows the layout of the 128 counter bits.

#include <cstdint>

#include "lazydp/base/error.h"
#include "lazydp/base/types.h"
#include "lazydp/kernels/aes.h"
#include "lazydp/random/seed.h"

namespace lazydp {

// The way in which the noise of missed steps is drawn. The two never share a cell.
enum class CellKind : std::uint8_t {
  each_step = 0,   // cell (row, t) holds the noise of step t
  aggregated = 1,  // cell (row, t) holds all the noise that a row settled at t was owed
};

// A row's cell is a sequence of blocks, each of four 32-bit words:
//
//   high = table 16 | row 40 | domain (upper 8 of 27)
//   low  = domain (lower 19) | step 32 | block 13
//
// where domain = draw index 20 | kind 3 | purpose 4. Draw 2 d + 1 refines the tails of draw 2 d; d
// counts the normals that secure noise adds up.
struct Cell {
  Purpose purpose = Purpose::table_noise;
  CellKind kind = CellKind::each_step;
  TableId table = 0;
  RowId row = 0;
  Step step = 0;
  std::uint32_t draw = 0;
};

inline constexpr RowId kMaxRows = RowId{1} << 40;
inline constexpr Step kLastStep = 0xFFFFFFFEu;
inline constexpr std::size_t kMaxDim = 4096;
inline constexpr int kBlockBits = 13;
inline constexpr std::uint64_t kRowUnit = std::uint64_t{1}
                                          << 8;  // one row further, in Counter::high

inline constexpr std::uint64_t kDrawUnit = std::uint64_t{1} << 52;  // one draw further, in ::low

// Returns the counter of a cell's first block; block b is at low + b.
inline Counter first_block(const Cell& cell) {
  check(cell.row >= 0 && cell.row < kMaxRows, "row within 40 bits");
  check(cell.step <= kLastStep, "step within 32 bits");
  check(cell.draw < (1u << 20), "draw index within 20 bits");
  const std::uint64_t domain = std::uint64_t{cell.draw} << 7 |
                               static_cast<std::uint64_t>(cell.kind) << 4 |
                               static_cast<std::uint64_t>(cell.purpose);
  return {.high = std::uint64_t{cell.table} << 48 | static_cast<std::uint64_t>(cell.row) << 8 |
                  domain >> 19,
          .low = (domain & 0x7FFFF) << 45 | std::uint64_t{cell.step} << kBlockBits};
}

// Returns NoisyRow::offset of the cell (kind, step) from the cell (each_step, 0) of the same row:
// two cells of one table differ in nothing else.
inline std::uint64_t cell_offset(CellKind kind, Step step) {
  check(step <= kLastStep, "step within 32 bits");
  constexpr int kKindShift = 49;  // in Counter::low
  return static_cast<std::uint64_t>(kind) << kKindShift | std::uint64_t{step} << kBlockBits;
}

}  // namespace lazydp
