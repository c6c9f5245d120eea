#include <algorithm>
#include <string>

#include "lazydp/base/error.h"
#include "lazydp/data/permutation.h"
#include "lazydp/data/sampler.h"
#include "lazydp/random/stream.h"

namespace lazydp {
namespace {

constexpr TableId kShuffleStream = 1;

class ShuffledSampler final : public Sampler {
 public:
  ShuffledSampler(const Seed& seed, std::uint64_t population, std::uint64_t batch)
      : seed_(seed), population_(population), batch_(batch) {}

  // All epochs laid end to end are one line; step t takes its places (t - 1) * batch ... t * batch
  // - 1.
  void draw(Step t, std::vector<ExampleId>& examples) const override {
    check(t >= 1, "steps count from 1");
    examples.clear();
    examples.reserve(batch_);
    const std::uint64_t end = t * batch_;
    for (std::uint64_t place = end - batch_; place < end;) {
      const std::uint64_t epoch = place / population_;
      const std::uint64_t epoch_end = std::min(end, (epoch + 1) * population_);
      const Permutation shuffle = of_epoch(epoch);
      for (; place < epoch_end; ++place) examples.push_back(shuffle(place - epoch * population_));
    }
  }

  bool poisson() const override { return false; }

 private:
  Permutation of_epoch(std::uint64_t epoch) const {
    RandomStream random(seed_, Purpose::sampling, kShuffleStream, static_cast<Step>(epoch));
    Permutation::Keys keys;
    for (std::uint64_t& key : keys) key = random.next64();
    return {population_, keys};
  }

  Seed seed_;
  std::uint64_t population_;
  std::uint64_t batch_;
};

}  // namespace

std::unique_ptr<Sampler> make_shuffled_sampler(const Seed& seed, std::uint64_t population,
                                               std::uint64_t batch) {
  if (population < 1 || population > kMaxExamples) {
    throw UserError("the data has " + std::to_string(population) +
                    " examples; sampling needs between 1 and 2^40");
  }
  // At most 2^31, so that a place (t - 1) * batch fits into 64 bits for every step.
  const std::uint64_t largest = std::min(population, std::uint64_t{1} << 31);
  if (batch < 1 || batch > largest) {
    throw UserError("batch is " + std::to_string(batch) + "; it must be between 1 and " +
                    std::to_string(largest) + " for this data");
  }
  return std::make_unique<ShuffledSampler>(seed, population, batch);
}

}  // namespace lazydp
