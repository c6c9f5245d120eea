#pragma once
// The noise kernels as one template over the instruction set. Included once by each noise_*.cc,
// each compiled for its own CPU: nothing here may have external linkage.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "lazydp/kernels/box_muller.h"
#include "lazydp/kernels/noise.h"

namespace lazydp {
namespace {

using box_muller::kGroup;
using box_muller::kGroupBlocks;

inline constexpr std::size_t kLockstep = 4;         // groups
inline constexpr std::size_t kScratchWords = 4096;  // a row of the largest dimension
inline constexpr std::size_t kChunkWords = 2048;    // stays in the first-level cache
inline constexpr std::size_t kMaxChunkRows = kChunkWords / kGroup;

// Counters of `rows` rows of `groups` groups, laid out where their random words will be.
inline void write_counters(const RowCounters& at, const NoisyRow* rows, std::size_t count,
                           std::size_t groups, std::uint32_t* words) {
  auto* out = reinterpret_cast<std::uint64_t*>(words);
  for (std::size_t r = 0; r < count; ++r) {
    const std::uint64_t high = at.high + rows[r].row * at.row_unit;
    for (std::size_t b = 0; b < groups * kGroupBlocks; ++b) {
      *out++ = at.low + b;
      *out++ = high;
    }
  }
}

// scratch[r * groups * 16 + i] = normal i of row r.
template <class Simd>
void draw_rows(const AesKey& key, const RowCounters& at, const NoisyRow* rows, std::size_t count,
               std::size_t groups, float* scratch) {
  auto* words = reinterpret_cast<std::uint32_t*>(scratch);
  write_counters(at, rows, count, groups, words);
  const std::size_t total = count * groups;
  Simd::encrypt(key, words, total * kGroupBlocks);
  const auto load = [&](std::size_t group) {
    return box_muller::load<Simd>(words + group * kGroup, [&](std::size_t word) {
      const std::size_t block = group % groups * kGroupBlocks + word / 4;
      const Counter counter = {at.high + rows[group / groups].row * at.row_unit,
                               at.refined_low + block};
      return Simd::encrypt_one(key, counter, word % 4);
    });
  };
  std::size_t g = 0;
  for (; g + kLockstep <= total; g += kLockstep) {
    box_muller::Pairs<Simd> pairs[kLockstep];
#pragma GCC unroll 4
    for (std::size_t j = 0; j < kLockstep; ++j) pairs[j] = load(g + j);
    box_muller::transform<Simd, kLockstep>(pairs, scratch + g * kGroup);
  }
  for (; g < total; ++g) {
    const box_muller::Pairs<Simd> pair = load(g);
    box_muller::transform<Simd, 1>(&pair, scratch + g * kGroup);
  }
}

template <class Simd>
void shrink_and_add(const NoisyRow& row, const float* normals, std::size_t dim) {
  const auto shrink = Simd::set(row.shrink);
  const auto std = Simd::set(row.std);
  std::size_t i = 0;
  for (; i + box_muller::kLanes <= dim; i += box_muller::kLanes) {
    Simd::store_unaligned(row.values + i,
                          Simd::fma(std, Simd::load_unaligned(normals + i),
                                    Simd::mul(shrink, Simd::load_unaligned(row.values + i))));
  }
  for (; i < dim; ++i) {
    row.values[i] = __builtin_fmaf(row.std, normals[i], row.shrink * row.values[i]);
  }
}

inline void prefetch_row(const float* values, std::size_t dim) {
  for (std::size_t i = 0; i < dim; i += 16) __builtin_prefetch(values + i, 1);
}

// Rows go in chunks whose normals fit the first-level cache. Memory is asked for in two stages: the
// first line of each row of the next chunk in a burst (which also brings the address translation),
// then, row by row behind the arithmetic, the rest.
template <class Simd>
void add_noise_body(const AesKey& key, const RowCounters& at, std::span<const NoisyRow> rows,
                    std::size_t dim) {
  alignas(64) float scratch[kScratchWords];
  const std::size_t groups = (dim + kGroup - 1) / kGroup;
  const std::size_t chunk = std::clamp<std::size_t>(kChunkWords / (groups * kGroup), 1,
                                                    std::min<std::size_t>(kMaxChunkRows, 16));
  for (std::size_t r = 0; r < std::min(chunk, rows.size()); ++r) prefetch_row(rows[r].values, dim);
  for (std::size_t first = 0; first < rows.size(); first += chunk) {
    const std::size_t count = std::min(chunk, rows.size() - first);
    const std::size_t ahead = first + count;
    const std::size_t ahead_count = std::min(chunk, rows.size() - ahead);
    for (std::size_t r = 0; r < ahead_count; ++r) __builtin_prefetch(rows[ahead + r].values, 1);
    draw_rows<Simd>(key, at, rows.data() + first, count, groups, scratch);
    for (std::size_t r = 0; r < count; ++r) {
      if (r < ahead_count) prefetch_row(rows[ahead + r].values, dim);
      shrink_and_add<Simd>(rows[first + r], scratch + r * groups * kGroup, dim);
    }
  }
}

template <class Simd>
void fill_normals_body(const AesKey& key, const RowCounters& at, std::span<float> out) {
  alignas(64) float scratch[kChunkWords];
  const NoisyRow row;
  RowCounters here = at;
  for (std::size_t i = 0; i < out.size(); i += kChunkWords) {
    const std::size_t n = std::min(kChunkWords, out.size() - i);
    draw_rows<Simd>(key, here, &row, 1, (n + kGroup - 1) / kGroup, scratch);
    std::memcpy(out.data() + i, scratch, n * sizeof(float));
    here.low += kChunkWords / 4;
    here.refined_low += kChunkWords / 4;
  }
}

template <class Simd>
void fill_random_body(const AesKey& key, Counter first, std::span<AesBlock> out) {
  auto* words = reinterpret_cast<std::uint64_t*>(out.data());
  for (std::size_t b = 0; b < out.size(); ++b) {
    words[2 * b] = first.low + b;
    words[2 * b + 1] = first.high;
  }
  Simd::encrypt(key, reinterpret_cast<std::uint32_t*>(words), out.size());
}

}  // namespace
}  // namespace lazydp
