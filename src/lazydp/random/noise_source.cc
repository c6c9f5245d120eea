#include "lazydp/random/noise_source.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

constexpr int kMaxBlockBits = 43;  // log2 of a key's blocks; refinements at most double them

RowCounters counters_of(Cell cell) {
  const Counter first = first_block(cell);
  cell.draw = 1;
  const Counter refined = first_block(cell);
  check(first.high == refined.high, "the draw index lies in the low word");
  return {.high = first.high, .low = first.low, .refined_low = refined.low, .row_unit = kRowUnit};
}

// Returns how many low bits of the step number share a key.
int step_bits(RowId rows, std::size_t dim, unsigned normals_per_sample) {
  const auto blocks = static_cast<std::uint64_t>(rows) * ((dim + 15) / 16 * 4) * normals_per_sample;
  const int spare = kMaxBlockBits - static_cast<int>(std::bit_width(blocks));
  if (spare < 0) {
    throw UserError("a table of " + std::to_string(rows) + " rows x " + std::to_string(dim) +
                    " is too large for one noise key; split it into several tables");
  }
  return std::min(spare, NoiseSource::kMaxStepBits);
}

}  // namespace

NoiseSource::NoiseSource(const Seed& seed, unsigned normals_per_sample)
    : seed_(seed), normals_per_sample_(normals_per_sample) {
  if (normals_per_sample >= 1 && normals_per_sample <= kMostDraws) return;
  throw UserError("noise-draws is " + std::to_string(normals_per_sample) +
                  "; it must be between 1 and " + std::to_string(kMostDraws));
}

void NoiseCells::add_sums(std::span<const NoisyRow> rows, std::size_t dim) const {
  constexpr std::size_t kFew = 64;
  const float part = 1.0f / std::sqrt(static_cast<float>(normals_per_sample));
  std::array<NoisyRow, kFew> few;
  for (std::size_t first = 0; first < rows.size(); first += kFew) {
    const std::size_t count = std::min(kFew, rows.size() - first);
    std::ranges::copy(rows.subspan(first, count), few.begin());
    for (NoisyRow& row : std::span(few).first(count)) row.std *= part;
    RowCounters of_draw = counters;
    for (unsigned draw = 0; draw < normals_per_sample; ++draw) {
      add_noise(key, of_draw, std::span(few).first(count), dim);
      for (NoisyRow& row : std::span(few).first(count)) row.shrink = 1.0f;
      of_draw.low += 2 * kDrawUnit;
      of_draw.refined_low += 2 * kDrawUnit;
    }
  }
}

NoiseCells NoiseSource::table(TableId table, RowId rows, std::size_t dim, CellKind kind, Step t,
                              Purpose purpose) const {
  return {.key = seed_.derive(purpose, table, t >> step_bits(rows, dim, normals_per_sample_)),
          .counters = counters_of({.purpose = purpose, .kind = kind, .table = table, .step = t}),
          .normals_per_sample = normals_per_sample_};
}

KeyedCells NoiseSource::sharing_a_key(TableId table, RowId rows, std::size_t dim, Step t) const {
  const int bits = step_bits(rows, dim, normals_per_sample_);
  const Step range = t >> bits;
  return {.cells = {.key = seed_.derive(Purpose::table_noise, table, range),
                    .counters = counters_of({.table = table}),
                    .normals_per_sample = normals_per_sample_},
          .first = range << bits,
          .last = (range << bits) + ((Step{1} << bits) - 1)};
}

NoiseCells NoiseSource::dense(Step t) const {
  return {.key = seed_.derive(Purpose::dense_noise, 0, t >> kMaxStepBits),
          .counters = counters_of({.purpose = Purpose::dense_noise, .step = t}),
          .normals_per_sample = normals_per_sample_};
}

}  // namespace lazydp
