#pragma once
// Composes what single steps do to a row into what any run of consecutive steps does, in constant
// time.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <span>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/types.h"

namespace lazydp {

// A `Map` is what one step does; `then(first, second)` composes two, associatively; and a default
// Map does nothing. Steps lie in blocks of 64, with a disjoint sparse table over blocks: prefixes
// and suffixes around every power of two. Nothing is ever subtracted, so nothing cancels.
template <class Map>
class StepRanges {
 public:
  static constexpr std::size_t kBlock = 64;

  // Reserves memory for `steps` steps, so that adding them allocates nothing.
  void reserve(Step steps) {
    steps_.reserve(std::size_t{steps} + 1);
    tails_.reserve(std::size_t{steps} + 1);
    const std::size_t blocks = steps / kBlock + 1;
    while ((std::size_t{1} << levels_.size()) <= blocks) levels_.emplace_back().reserve(blocks);
  }

  // Adds the next step and returns its number, from 1.
  Step push(const Map& map) {
    steps_.push_back(map);
    if (steps_.size() % kBlock == 0) close_block();
    return now();
  }

  Step now() const { return static_cast<Step>(steps_.size() - 1); }
  const Map& at(Step t) const { return steps_[t]; }
  std::span<const Map> all() const { return std::span(steps_).subspan(1); }  // from step 1

 private:
  template <class>
  friend class RangesEndingAt;

  // Called when the last block has just become complete: adds its suffixes, then its entries in the
  // sparse table. At level k, blocks pair up in halves of 2^k; an entry of a left half runs to the
  // half's end, one of a right half from the half's start.
  void close_block() {
    const std::size_t end = steps_.size();
    tails_.resize(end);
    Map tail;
    for (std::size_t t = end; t-- > end - kBlock;) tails_[t] = tail = then(steps_[t], tail);

    const std::size_t block = end / kBlock - 1;
    while ((std::size_t{1} << levels_.size()) <= block + 1) levels_.emplace_back();
    for (std::size_t k = 0; k < levels_.size(); ++k) {
      auto& level = levels_[k];
      const std::size_t half = std::size_t{1} << k;
      level.resize(block + 1);
      if ((block & half) != 0) {
        level[block] = (block & (half - 1)) == 0 ? tail : then(level[block - 1], tail);
      } else if ((block & (half - 1)) == half - 1) {
        Map suffix;
        for (std::size_t b = block + 1; b-- > block + 1 - half;) {
          level[b] = suffix = then(tails_[b * kBlock], suffix);
        }
      }
    }
  }

  // Composes the complete blocks first … last.
  Map blocks(std::size_t first, std::size_t last) const {
    if (first == last) return tails_[first * kBlock];
    const auto k = static_cast<std::size_t>(std::bit_width(first ^ last)) - 1;
    return then(levels_[k][first], levels_[k][last]);
  }

  std::vector<Map> steps_ = {Map{}};      // [t]; entry 0 stands for "before training"
  std::vector<Map> tails_;                // [t]: from t to the end of its block, once complete
  std::vector<std::vector<Map>> levels_;  // [k][block]
};

// The runs that end at one step, for many rows at one moment.
template <class Map>
class RangesEndingAt {
 public:
  RangesEndingAt(const StepRanges<Map>& runs, Step through)
      : runs_(runs),
        through_(through),
        block_(through / kBlock - std::min<std::size_t>(through / kBlock, kRecentBlocks - 1)),
        start_(block_ * kBlock) {
    check(through <= runs.now(), "settled no further than the open step");
    Map map;
    recent_[through + 1 - start_] = map;
    for (std::size_t t = through + 1; t-- > start_;) {
      recent_[t - start_] = map = then(runs.steps_[t], map);
    }
  }

  Step through() const { return through_; }
  const Map& at(Step t) const { return runs_.at(t); }

  // Composes steps after + 1, …, through; `after` <= through.
  Map since(Step after) const {
    const std::size_t first = std::size_t{after} + 1;
    if (is_recent(after)) return recent_[first - start_];
    const std::size_t block = first / kBlock;
    Map map = runs_.tails_[first];
    if (block + 1 < block_) map = then(map, runs_.blocks(block + 1, block_ - 1));
    return then(map, recent_[0]);
  }

  // Recent runs are short: rows of long bags seldom wait for longer. since(after) of a recent
  // `after` is recent()[recent_place(after)].
  bool is_recent(Step after) const { return std::size_t{after} + 1 >= start_; }
  std::size_t recent_place(Step after) const { return std::size_t{after} + 1 - start_; }
  std::span<const Map> recent() const {
    return std::span(recent_).first(std::size_t{through_} + 2 - start_);
  }
  static constexpr std::size_t kMostRecent = 4 * StepRanges<Map>::kBlock + 1;

 private:
  static constexpr std::size_t kBlock = StepRanges<Map>::kBlock;
  static constexpr std::size_t kRecentBlocks = kMostRecent / kBlock;

  const StepRanges<Map>& runs_;
  Step through_;
  std::size_t block_;  // the first recent block, and its first step
  std::size_t start_;
  std::array<Map, kMostRecent> recent_;  // from start_ + i through `through`
};

}  // namespace lazydp
