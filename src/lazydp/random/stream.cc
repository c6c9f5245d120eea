#include "lazydp/random/stream.h"

#include <cmath>
#include <numbers>
#include <span>

#include "lazydp/kernels/noise.h"

namespace lazydp {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t kBlocksPerRow = std::uint64_t{1} << kBlockBits;

}  // namespace

RandomStream::RandomStream(const Seed& seed, Purpose purpose, TableId stream, Step step,
                           RowId first_row)
    : key_(seed.derive(purpose, stream, 0)),
      next_block_(
          first_block({.purpose = purpose, .table = stream, .row = first_row, .step = step})) {}

void RandomStream::refill() {
  constexpr std::size_t kBlocks = kWords / 4;
  static_assert(kBlocksPerRow % kBlocks == 0, "a refill never crosses the end of a cell");
  const Counter at = {next_block_.high + blocks_drawn_ / kBlocksPerRow * kRowUnit,
                      next_block_.low + blocks_drawn_ % kBlocksPerRow};
  fill_random(key_, at, std::span(reinterpret_cast<AesBlock*>(words_.data()), kBlocks));
  blocks_drawn_ += kBlocks;
  position_ = 0;
}

std::uint32_t RandomStream::next32() {
  if (position_ == kWords) refill();
  return words_[position_++];
}

std::uint64_t RandomStream::next64() {
  const std::uint64_t high = next32();
  return high << 32 | next32();
}

double RandomStream::uniform() {
  const std::uint64_t bits = next64() >> 11;
  return bits == 0 ? 0x1p-54 : static_cast<double>(bits) * 0x1p-53;
}

// Takes the upper half of a product, rejecting the few products that would favour some values
// (Lemire 2019).
std::uint64_t RandomStream::below(std::uint64_t bound) {
  check(bound > 0, "a bound to draw below");
  const std::uint64_t reject_below = -bound % bound;
  for (;;) {
    const Wide product = static_cast<Wide>(next64()) * bound;
    if (static_cast<std::uint64_t>(product) >= reject_below) {
      return static_cast<std::uint64_t>(product >> 64);
    }
  }
}

double RandomStream::normal() {
  const double radius = std::sqrt(-2.0 * std::log(uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace lazydp
