#pragma once
// The noise kernels as one template over the instruction set. Each noise_*.cc includes it once and
// is compiled for its own CPU: nothing here may have external linkage.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "lazydp/kernels/box_muller.h"
#include "lazydp/kernels/noise.h"
#include "lazydp/kernels/prefetch.h"

namespace lazydp {
namespace {

using box_muller::kGroup;
using box_muller::kGroupBlocks;

inline constexpr std::size_t kLockstep = 4;         // groups
inline constexpr std::size_t kScratchWords = 4096;  // a row of the largest dimension
inline constexpr std::size_t kChunkWords = 2048;    // stays in the first-level cache
inline constexpr std::size_t kBurstFloats = 8192;   // a small part of the second-level cache
static_assert(kScratchWords / kGroup / kLockstep <= 64, "a bit for each group that is put aside");

// The fast path: transforms all words as if none needed more bits. The few that do are only noted,
// without an unpredictable branch: bit i for groups i * kLockstep and after. A function of its own,
// so that no other code competes for its registers.
template <class Simd>
__attribute__((noinline)) std::uint64_t draw_straight(const std::uint32_t* words, std::size_t total,
                                                      float* normals) {
  constexpr std::size_t kVectors = kLockstep / Simd::kGroups;
  std::uint64_t aside = 0;
  std::size_t g = 0;
  for (; g + kLockstep <= total; g += kLockstep) {
    const std::uint32_t* from = words + g * kGroup;
    const std::uint64_t small = box_muller::any_small<Simd, kVectors>(from) ? 1 : 0;
    aside |= small << g / kLockstep;
    box_muller::Pairs<Simd> pairs[kVectors];
#pragma GCC unroll 4
    for (std::size_t j = 0; j < kVectors; ++j) {
      pairs[j] = box_muller::load<Simd>(from + j * kGroup * Simd::kGroups);
    }
    box_muller::transform<Simd, kVectors>(pairs, normals + g * kGroup);
  }
  if (g < total) aside |= std::uint64_t{1} << g / kLockstep;
  for (; g < total; ++g) {
    const auto pairs = box_muller::load<typename Simd::Narrow>(words + g * kGroup);
    box_muller::transform<typename Simd::Narrow, 1>(&pairs, normals + g * kGroup);
  }
  return aside;
}

// Gathers pairs that need more bits and draws them again, eight at a time.
template <class Narrow>
class Refined {
 public:
  Refined(const AesKey& key, const RowCounters& at, float* normals)
      : key_(key), at_(at), normals_(normals) {}

  // Adds the pairs of the group whose first block is `block` of a row; its normals begin at
  // `first`.
  void group(const std::uint32_t* words, unsigned small, const NoisyRow& row, std::size_t block,
             std::size_t first) {
    constexpr unsigned kAllLanes = (1u << box_muller::kLanes) - 1;
    unsigned lanes = (small | small >> box_muller::kLanes) & kAllLanes;
    for (; lanes != 0; lanes &= lanes - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(lanes));
      places_[count_] = first + lane;
      pairs_.put(count_, words, lane, small, [&](std::size_t word) {
        const Counter counter = {at_.high + row.row * at_.row_unit,
                                 at_.refined_low + row.offset + block + word / 4};
        return Narrow::encrypt_one(key_, counter, word % 4);
      });
      if (++count_ == box_muller::kLanes) draw();
    }
  }

  void draw() {
    alignas(32) float normals[kGroup];
    const auto pairs = pairs_.pairs();
    box_muller::transform<Narrow, 1>(&pairs, normals);
    for (std::size_t k = 0; k < count_; ++k) {
      normals_[places_[k]] = normals[k];
      normals_[places_[k] + box_muller::kLanes] = normals[k + box_muller::kLanes];
    }
    count_ = 0;
  }

 private:
  const AesKey& key_;
  const RowCounters& at_;
  float* normals_;
  box_muller::Gathered<Narrow> pairs_;
  std::size_t places_[box_muller::kLanes];
  std::size_t count_ = 0;
};

template <class Simd>
__attribute__((noinline)) void draw_aside(const AesKey& key, const RowCounters& at,
                                          const NoisyRow* rows, std::size_t groups,
                                          std::size_t total, std::uint64_t aside,
                                          const std::uint32_t* words, float* normals) {
  using Narrow = typename Simd::Narrow;
  Refined<Narrow> refined(key, at, normals);
  for (; aside != 0; aside &= aside - 1) {
    const std::size_t first = static_cast<std::size_t>(std::countr_zero(aside)) * kLockstep;
    for (std::size_t g = first; g < std::min(first + kLockstep, total); ++g) {
      const std::uint32_t* from = words + g * kGroup;
      const unsigned small = box_muller::small_words<Narrow>(from);
      if (small == 0) continue;
      refined.group(from, small, rows[g / groups], g % groups * kGroupBlocks, g * kGroup);
    }
  }
  refined.draw();
}

// Writes the random words of `count` rows of `groups` groups each.
template <class Simd>
inline void encrypt_rows(const AesKey& key, const RowCounters& at, const NoisyRow* rows,
                         std::size_t count, std::size_t groups, std::uint32_t* words) {
  const auto first_of = [&](const NoisyRow& row) {
    return Simd::counters({.high = at.high + row.row * at.row_unit, .low = at.low + row.offset});
  };
  const NoisyRow* row = rows;
  const NoisyRow* const last = rows + count - 1;
  auto counters = first_of(*row);
  std::size_t left = groups * kGroupBlocks / Simd::kBlocks;
  const auto next = [&] {
    const auto now = counters;
    counters = Simd::next(counters);
    if (--left == 0 && row != last) {
      counters = first_of(*++row);
      left = groups * kGroupBlocks / Simd::kBlocks;
    }
    return now;
  };
  Simd::encrypt(key, next, words, count * groups * kGroupBlocks);
}

// Writes normals[r * groups * 16 + i] = normal i of row r. `words` is scratch of the same length.
template <class Simd>
void draw_rows(const AesKey& key, const RowCounters& at, const NoisyRow* rows, std::size_t count,
               std::size_t groups, std::uint32_t* words, float* normals) {
  const std::size_t total = count * groups;
  encrypt_rows<Simd>(key, at, rows, count, groups, words);
  const std::uint64_t aside = draw_straight<Simd>(words, total, normals);
  if (aside != 0) draw_aside<Simd>(key, at, rows, groups, total, aside, words, normals);
}

template <class Simd>
inline std::size_t shrink_and_add_whole(const NoisyRow& row, const float* normals, std::size_t i,
                                        std::size_t dim) {
  constexpr std::size_t kFloats = box_muller::kLanes * Simd::kGroups;
  const auto shrink = Simd::set(row.shrink);
  const auto std = Simd::set(row.std);
  for (; i + kFloats <= dim; i += kFloats) {
    Simd::store(row.values + i, Simd::fma(std, Simd::load(normals + i),
                                          Simd::mul(shrink, Simd::load(row.values + i))));
  }
  return i;
}

template <class Simd>
void shrink_and_add(const NoisyRow& row, const float* normals, std::size_t dim) {
  std::size_t i = shrink_and_add_whole<Simd>(row, normals, 0, dim);
  i = shrink_and_add_whole<typename Simd::Narrow>(row, normals, i, dim);
  for (; i < dim; ++i) {
    row.values[i] = __builtin_fmaf(row.std, normals[i], row.shrink * row.values[i]);
  }
}

// Returns whether rows are contiguous, as in an eager sweep: the hardware then prefetches better by
// itself than with prefetch instructions.
inline bool side_by_side(std::span<const NoisyRow> rows, std::size_t dim) {
  if (rows.size() < 2) return false;
  const std::ptrdiff_t apart = rows.back().values - rows.front().values;
  return apart == static_cast<std::ptrdiff_t>((rows.size() - 1) * dim);
}

// Processes rows in chunks whose normals fit the first-level cache. Prefetches in bursts, one
// ahead: a prefetch of a page whose translation is not cached holds up those behind it, so that
// arithmetic in between would only make each of them wait for the one before.
template <class Simd>
void add_noise_body(const AesKey& key, const RowCounters& at, std::span<const NoisyRow> rows,
                    std::size_t dim) {
  alignas(64) std::uint32_t words[kScratchWords];
  alignas(64) float scratch[kScratchWords];
  const std::size_t groups = (dim + kGroup - 1) / kGroup;
  const bool ask = !side_by_side(rows, dim);
  const std::size_t chunk_words = ask ? kChunkWords : kChunkWords / 2;
  const std::size_t chunk = std::max<std::size_t>(1, chunk_words / (groups * kGroup));
  const std::size_t burst = chunk * std::max<std::size_t>(1, kBurstFloats / (chunk * dim));
  const auto prefetch = [&](std::size_t first) {
    const std::size_t last = std::min(first + burst, rows.size());
    for (std::size_t r = first; r < last; ++r) {
      if (r == first || rows[r].values != rows[r - 1].values) prefetch_row(rows[r].values, dim);
    }
  };
  if (ask) prefetch(0);
  for (std::size_t first = 0; first < rows.size(); first += chunk) {
    if (ask && first % burst == 0) prefetch(first + burst);
    const std::size_t count = std::min(chunk, rows.size() - first);
    draw_rows<Simd>(key, at, rows.data() + first, count, groups, words, scratch);
    for (std::size_t r = 0; r < count; ++r) {
      shrink_and_add<Simd>(rows[first + r], scratch + r * groups * kGroup, dim);
    }
  }
}

template <class Simd>
void fill_normals_body(const AesKey& key, const RowCounters& at, std::span<float> out) {
  alignas(64) std::uint32_t words[kChunkWords];
  const NoisyRow row = {nullptr, 0, 1.0f, 0.0f};
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
  auto counters = Simd::counters(first);
  Simd::encrypt(
      key, [&] { return std::exchange(counters, Simd::next(counters)); },
      reinterpret_cast<std::uint32_t*>(out.data()), out.size());
}

}  // namespace
}  // namespace lazydp
