#include "lazydp/noise/clock.h"

#include <bit>

#include "lazydp/base/error.h"

namespace lazydp {

void VarianceClock::reserve(Step steps) {
  steps_.reserve(std::size_t{steps} + 1);
  tails_.reserve(std::size_t{steps} + 1);
  const std::size_t blocks = steps / kBlock + 1;
  while ((std::size_t{1} << levels_.size()) <= blocks) levels_.emplace_back().reserve(blocks);
}

Step VarianceClock::open(double step_size, double noise_std, double shrink) {
  const double std = step_size * noise_std;
  step_size_ = step_size;
  append({shrink, std * std});
  return now();
}

void VarianceClock::restore(std::span<const Owed> steps) {
  *this = VarianceClock();
  reserve(static_cast<Step>(steps.size()));
  for (const Owed& owed : steps) append(owed);
}

void VarianceClock::append(const Owed& owed) {
  steps_.push_back(owed);
  if (steps_.size() % kBlock == 0) close_block();
}

// The last block has just become complete: its suffixes, then its place in the sparse table. At
// level k, blocks pair up in halves of 2^k; an entry of a left half runs to the half's end, one of
// a right half from the half's start.
void VarianceClock::close_block() {
  const std::size_t end = steps_.size();
  tails_.resize(end);
  Owed tail;
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
      Owed suffix;
      for (std::size_t b = block + 1; b-- > block + 1 - half;) {
        level[b] = suffix = then(tails_[b * kBlock], suffix);
      }
    }
  }
}

// Of complete blocks first … last.
Owed VarianceClock::blocks(std::size_t first, std::size_t last) const {
  if (first == last) return tails_[first * kBlock];
  const auto k = static_cast<std::size_t>(std::bit_width(first ^ last)) - 1;
  return then(levels_[k][first], levels_[k][last]);
}

Owed VarianceClock::over(Step after, Step through) const {
  return Debts(*this, through).since(after);
}

Debts::Debts(const VarianceClock& clock, Step through)
    : clock_(clock),
      through_(through),
      last_block_(through / VarianceClock::kBlock),
      block_start_(last_block_ * VarianceClock::kBlock) {
  check(through <= clock.now(), "settled no further than the open step");
  Owed owed;
  recent_[through + 1 - block_start_] = owed;
  for (std::size_t t = through + 1; t-- > block_start_;) {
    recent_[t - block_start_] = owed = then(clock.steps_[t], owed);
  }
}

}  // namespace lazydp
