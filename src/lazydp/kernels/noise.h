#pragma once
// Gaussian noise for rows of a table, computed directly from counters.
//
// Every instruction set gives the same bits: all paths are one template, and each of its operations
// is rounded alike everywhere. A row's noise may therefore be drawn late, on another machine, or
// again, and still be the noise that was due.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "lazydp/kernels/aes.h"

namespace lazydp {

// The counters of the rows' random words: block b of row r is the cipher of (high + r * row_unit,
// low + b), and block b of its refinement that of (high + r * row_unit, refined_low + b).
struct RowCounters {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  std::uint64_t refined_low = 0;
  std::uint64_t row_unit = 0;
};

// One row to update: values = shrink * values + std * z, where z is the standard normal vector of
// row `row`. `offset` is added to both low counters: rows may draw from cells that share a key and
// nothing else.
struct NoisyRow {
  float* values;
  std::uint64_t row;
  float shrink;
  float std;
  std::uint64_t offset = 0;
};

// Adds its noise to every row, in this order: a row may be named several times. Rows are `dim`
// floats, and are prefetched from memory in bursts.
void add_noise(const AesKey& key, const RowCounters& counters, std::span<const NoisyRow> rows,
               std::size_t dim);

// Writes out[i] = z[i] of row 0: the same normals as add_noise() draws.
void fill_normals(const AesKey& key, const RowCounters& counters, std::span<float> out);

// Writes to block b of `out` the cipher of (first.high, first.low + b).
void fill_random(const AesKey& key, Counter first, std::span<AesBlock> out);

// One of the instruction sets that these functions are compiled for. The functions above take the
// best that the CPU has; tests and benchmarks call each path.
struct NoisePath {
  std::string_view name;
  bool (*available)();
  void (*add_noise)(const AesKey&, const RowCounters&, std::span<const NoisyRow>, std::size_t);
  void (*fill_normals)(const AesKey&, const RowCounters&, std::span<float>);
  void (*fill_random)(const AesKey&, Counter, std::span<AesBlock>);
};

std::span<const NoisePath> noise_paths();  // portable first, best last
const NoisePath& best_noise_path();

// The paths, for noise.cc to choose from.
extern const NoisePath kPortablePath;
#if defined(__x86_64__)
extern const NoisePath kAesniPath;
extern const NoisePath kVaesPath;
extern const NoisePath kAvx512Path;
#endif

}  // namespace lazydp
