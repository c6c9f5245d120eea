// Balls in bins: each example is in one secret step of every epoch, always the same.

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/data/samplers.h"
#include "lazydp/random/stream.h"

namespace lazydp {
namespace {

constexpr TableId kBinStream = 4;

class BinsSampler final : public Sampler {
 public:
  BinsSampler(const Seed& seed, std::uint64_t population, std::uint64_t bins)
      : secret_(seed.secret()), starts_(bins + 1), examples_(population) {
    // Counts the examples of each bin, then draws again and puts each in its place.
    const auto for_each = [&](auto&& take) {
      RandomStream random(seed, Purpose::sampling, kBinStream, 0);
      for (std::uint64_t i = 0; i < population; ++i) take(i, random.below(bins));
    };
    for_each([&](std::uint64_t /*i*/, std::uint64_t bin) { ++starts_[bin + 1]; });
    for (std::size_t bin = 0; bin < bins; ++bin) starts_[bin + 1] += starts_[bin];
    std::vector<std::uint64_t> next(starts_.begin(), starts_.end() - 1);
    for_each([&](std::uint64_t i, std::uint64_t bin) {
      examples_[next[bin]++] = static_cast<std::uint32_t>(i);
    });
  }

  void draw(Step t, Sample& sample) const override {
    check(t >= 1, "steps count from 1");
    const std::uint64_t bin = (t - 1) % (starts_.size() - 1);
    const auto at = [&](std::uint64_t place) {
      return examples_.begin() + static_cast<std::ptrdiff_t>(place);
    };
    sample.unit_starts.clear();
    sample.examples.assign(at(starts_[bin]), at(starts_[bin + 1]));
  }

  Sampling sampling() const override { return Sampling::balls_in_bins; }
  bool secret() const override { return secret_; }
  std::uint64_t separation() const override { return starts_.size() - 1; }

 private:
  bool secret_;
  std::vector<std::uint64_t> starts_;    // [bin]: of its examples
  std::vector<std::uint32_t> examples_;  // bin by bin
};

}  // namespace

std::unique_ptr<Sampler> make_bins_sampler(const Seed& seed, std::uint64_t population,
                                           std::uint64_t bins) {
  if (population < 1 || population > std::numeric_limits<std::uint32_t>::max()) {
    throw UserError("the data has " + std::to_string(population) +
                    " examples; balls in bins need between 1 and 2^32 - 1");
  }
  check(bins >= 1 && bins <= population, "a bin for each step of an epoch");
  return std::make_unique<BinsSampler>(seed, population, bins);
}

}  // namespace lazydp
