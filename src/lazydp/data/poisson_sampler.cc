#include <cmath>
#include <string>

#include "lazydp/base/error.h"
#include "lazydp/data/sampler.h"
#include "lazydp/random/stream.h"

namespace lazydp {
namespace {

constexpr TableId kPoissonStream = 0;

class PoissonSampler final : public Sampler {
 public:
  PoissonSampler(const Seed& seed, std::uint64_t population, double rate)
      : seed_(seed), population_(population), rate_(rate), log_miss_(std::log1p(-rate)) {
    const double expected = static_cast<double>(population) * rate;
    room_ = static_cast<std::size_t>(expected + 6.0 * std::sqrt(expected) + 16.0);
  }

  // From one member of the batch to the next, the number of examples left out is geometric:
  // P(gap >= k) = (1 - q)^k = P(log(u) / log(1 - q) >= k). So the work is that of the batch, not of
  // the population. With q = 1 every gap is 0; a gap is compared before it is made an integer,
  // because for a tiny q it may be larger than any integer.
  void draw(Step t, std::vector<ExampleId>& examples) const override {
    check(t >= 1, "steps count from 1");
    examples.clear();
    examples.reserve(room_);
    RandomStream random(seed_, Purpose::sampling, kPoissonStream, t);
    for (ExampleId next = 0;; ++next) {
      const double gap = std::floor(std::log(random.uniform()) / log_miss_);
      if (gap >= static_cast<double>(population_ - next)) return;
      next += static_cast<ExampleId>(gap);
      examples.push_back(next);
    }
  }

  bool poisson() const override { return true; }
  double rate() const override { return rate_; }
  bool secret() const override { return seed_.secret(); }

 private:
  Seed seed_;
  std::uint64_t population_;
  double rate_;
  double log_miss_;   // log(1 - q), minus infinity for q = 1
  std::size_t room_;  // more than this has a probability below 1e-8
};

}  // namespace

std::unique_ptr<Sampler> make_poisson_sampler(const Seed& seed, std::uint64_t population,
                                              double rate) {
  if (population < 1 || population > kMaxExamples) {
    throw UserError("the data has " + std::to_string(population) +
                    " examples; sampling needs between 1 and 2^40");
  }
  if (!(rate > 0.0 && rate <= 1.0)) {
    throw UserError("sampling_rate is " + std::to_string(rate) +
                    "; it must be above 0 and at most 1, for example 0.01");
  }
  return std::make_unique<PoissonSampler>(seed, population, rate);
}

}  // namespace lazydp
