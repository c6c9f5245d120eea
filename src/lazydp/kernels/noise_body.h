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

inline constexpr std::size_t kLockstep = 2;         // groups
inline constexpr std::size_t kScratchWords = 4096;  // a row of the largest dimension
inline constexpr std::size_t kChunkWords = 512;     // stays in the first-level cache
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

// Groups with a word that wants more bits: rare, so they are put aside and drawn again afterwards.
struct Aside {
  alignas(64) std::uint32_t words[kScratchWords];
  std::uint16_t group[kScratchWords / kGroup];
  std::size_t count = 0;

  void put(std::size_t which, const std::uint32_t* from) {
    std::memcpy(words + count * kGroup, from, kGroup * sizeof(*from));
    group[count++] = static_cast<std::uint16_t>(which);
  }
};

// The straight path: as if no word wanted more bits. A function of its own, so that nothing else
// competes for its registers.
template <class Simd>
__attribute__((noinline)) void draw_straight(const std::uint32_t* words, std::size_t total,
                                             float* normals, Aside& aside) {
  std::size_t g = 0;
  for (; g + kLockstep <= total; g += kLockstep) {
    const std::uint32_t* from = words + g * kGroup;
    if (__builtin_expect(box_muller::any_small<Simd, kLockstep>(from), 0)) {
      for (std::size_t j = 0; j < kLockstep; ++j) aside.put(g + j, from + j * kGroup);
    }
    box_muller::Pairs<Simd> pairs[kLockstep];
#pragma GCC unroll 4
    for (std::size_t j = 0; j < kLockstep; ++j) {
      pairs[j] = box_muller::load<Simd>(from + j * kGroup);
    }
    box_muller::transform<Simd, kLockstep>(pairs, normals + g * kGroup);
  }
  for (; g < total; ++g) aside.put(g, words + g * kGroup);
}

// The groups that were put aside, with the bits they want.
template <class Simd>
__attribute__((noinline)) void draw_aside(const AesKey& key, const RowCounters& at,
                                          const NoisyRow* rows, std::size_t groups,
                                          const Aside& aside, float* normals) {
  for (std::size_t k = 0; k < aside.count; ++k) {
    const std::uint32_t* from = aside.words + k * kGroup;
    const std::size_t group = aside.group[k];
    auto pairs = box_muller::load<Simd>(from);
    box_muller::refine_small<Simd>(from, pairs, [&](std::size_t word) {
      const std::size_t block = group % groups * kGroupBlocks + word / 4;
      const Counter counter = {at.high + rows[group / groups].row * at.row_unit,
                               at.refined_low + block};
      return Simd::encrypt_one(key, counter, word % 4);
    });
    box_muller::transform<Simd, 1>(&pairs, normals + group * kGroup);
  }
}

// normals[r * groups * 16 + i] = normal i of row r. `words` has room for as many words, and may be
// where the normals go.
template <class Simd>
void draw_rows(const AesKey& key, const RowCounters& at, const NoisyRow* rows, std::size_t count,
               std::size_t groups, std::uint32_t* words, float* normals) {
  write_counters(at, rows, count, groups, words);
  const std::size_t total = count * groups;
  Simd::encrypt(key, words, total * kGroupBlocks);
  Aside aside;
  draw_straight<Simd>(words, total, normals, aside);
  draw_aside<Simd>(key, at, rows, groups, aside, normals);
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
    draw_rows<Simd>(key, at, rows.data() + first, count, groups,
                    reinterpret_cast<std::uint32_t*>(scratch), scratch);
    for (std::size_t r = 0; r < count; ++r) {
      if (r < ahead_count) prefetch_row(rows[ahead + r].values, dim);
      shrink_and_add<Simd>(rows[first + r], scratch + r * groups * kGroup, dim);
    }
  }
}

template <class Simd>
void fill_normals_body(const AesKey& key, const RowCounters& at, std::span<float> out) {
  alignas(64) std::uint32_t words[kChunkWords];
  const NoisyRow row;
  RowCounters here = at;
  for (std::size_t i = 0; i < out.size(); i += kChunkWords) {
    const std::size_t n = std::min(kChunkWords, out.size() - i);
    const std::size_t whole = n / kGroup;
    if (whole > 0) draw_rows<Simd>(key, here, &row, 1, whole, words, out.data() + i);
    if (const std::size_t rest = n % kGroup; rest > 0) {
      here.low += whole * kGroupBlocks;
      here.refined_low += whole * kGroupBlocks;
      float last[kGroup];
      draw_rows<Simd>(key, here, &row, 1, 1, words, last);
      std::copy_n(last, rest, out.data() + i + whole * kGroup);
    }
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
