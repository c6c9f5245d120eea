#pragma once
// The random numbers of which a synthetic example is made: public, and the same on every machine.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lazydp/data/dataset.h"
#include "lazydp/kernels/noise.h"
#include "lazydp/random/cell.h"
#include "lazydp/random/seed.h"

namespace lazydp {

// Identifies a family of examples, and holds its key, so that making an example costs no key
// expansion.
struct ExampleKey {
  ExampleKey(std::uint64_t public_seed, TableId family_number)
      : family(family_number),
        aes(Seed::fixed(public_seed).derive(Purpose::public_data, family_number, 0)) {}

  TableId family;
  AesKey aes;
};

// A pure function of (key, example). The uniforms form a sequence; the normals have a cell of their
// own, so that neither affects the other.
class ExampleRandom {
 public:
  ExampleRandom(const ExampleKey& key, ExampleId example) : key_(key), example_(example) {}

  std::uint64_t next64() {
    if (position_ == 2 * kBlocks) refill();
    const std::uint32_t* words = blocks_[position_ / 2].data() + 2 * (position_ % 2);
    ++position_;
    return std::uint64_t{words[1]} << 32 | words[0];
  }

  // Returns a uniform in (0, 1), never 0 nor 1.
  double uniform() { return (static_cast<double>(next64() >> 12) + 0.5) * 0x1p-52; }

  // Returns a uniform integer in [0, bound), to within bound / 2^64.
  std::uint64_t below(std::uint64_t bound) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((Wide{next64()} * bound) >> 64);
  }

  // Writes standard normals; a second call writes the same again.
  void normals(std::span<float> out) const {
    const Counter first = first_block(cell(0));
    fill_normals(key_.aes,
                 {.high = first.high,
                  .low = first.low,
                  .refined_low = first_block(cell(0, 1)).low,
                  .row_unit = kRowUnit},
                 out);
  }

 private:
  static constexpr std::size_t kBlocks = 16;  // blocks of a refill

  // Cell 0 holds the normals, cells 1, 2, ... one refill of uniforms each.
  Cell cell(Step number, std::uint32_t draw = 0) const {
    return {.purpose = Purpose::public_data,
            .table = key_.family,
            .row = static_cast<RowId>(example_),
            .step = number,
            .draw = draw};
  }

  void refill() {
    fill_random(key_.aes, first_block(cell(++refills_)), blocks_);
    position_ = 0;
  }

  const ExampleKey& key_;
  ExampleId example_;
  Step refills_ = 0;
  std::size_t position_ = 2 * kBlocks;
  std::array<AesBlock, kBlocks> blocks_;
};

}  // namespace lazydp
