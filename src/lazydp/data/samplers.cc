#include "lazydp/data/samplers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <string>

#include "lazydp/base/error.h"
#include "lazydp/random/stream.h"

namespace lazydp {

void read_sample(const Dataset& dataset, const Sample& sample, Batch& batch) {
  dataset.read(sample.examples, batch);
  batch.unit_starts.assign(sample.unit_starts.begin(), sample.unit_starts.end());
}

std::string_view sampling_name(Sampling sampling) {
  return std::ranges::find(kSamplings, sampling, [](const auto& named) { return named.second; })
      ->first;
}

namespace {

constexpr TableId kPoissonStream = 0;

class PoissonSampler final : public Sampler {
 public:
  PoissonSampler(const Seed& seed, std::uint64_t population, double rate)
      : seed_(seed), population_(population), rate_(rate), log_miss_(std::log1p(-rate)) {
    const double expected = static_cast<double>(population) * rate;
    room_ = static_cast<std::size_t>(expected + 6.0 * std::sqrt(expected) + 16.0);
  }

  // From one member of the batch to the next, the number of examples left out is geometric: P(gap
  // >= k) = (1 - q)^k = P(log(u) / log(1 - q) >= k). The work is therefore proportional to the
  // batch, not to the population. With q = 1 every gap is 0; a gap is compared before it is
  // converted to an integer, because for a tiny q it may be larger than any integer.
  void draw(Step t, Sample& sample) const override {
    check(t >= 1, "steps count from 1");
    std::vector<ExampleId>& examples = sample.examples;
    sample.unit_starts.clear();
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

  Sampling sampling() const override { return Sampling::poisson; }
  double rate() const override { return rate_; }
  bool secret() const override { return seed_.secret(); }

 private:
  Seed seed_;
  std::uint64_t population_;
  double rate_;
  double log_miss_;   // log(1 - q), minus infinity for q = 1
  std::size_t room_;  // a larger batch has a probability below 1e-8
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

namespace {

constexpr TableId kShuffleStream = 1;

class ShuffledSampler final : public Sampler {
 public:
  ShuffledSampler(const Seed& seed, std::uint64_t population, std::uint64_t batch)
      : seed_(seed), population_(population), batch_(batch) {}

  // All epochs form one sequence; step t takes positions (t - 1) * batch ... t * batch - 1 of it.
  void draw(Step t, Sample& sample) const override {
    check(t >= 1, "steps count from 1");
    std::vector<ExampleId>& examples = sample.examples;
    sample.unit_starts.clear();
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

  Sampling sampling() const override { return Sampling::shuffled; }

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
  // At most 2^31, so that the position (t - 1) * batch fits into 64 bits for every step.
  const std::uint64_t largest = std::min(population, std::uint64_t{1} << 31);
  if (batch < 1 || batch > largest) {
    throw UserError("batch is " + std::to_string(batch) + "; it must be between 1 and " +
                    std::to_string(largest) + " for this data");
  }
  return std::make_unique<ShuffledSampler>(seed, population, batch);
}

namespace {

// The finalizer of SplitMix64 (Steele, Lea and Flood 2014): every bit of the input flips every bit
// of the output about half the time.
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace

Permutation::Permutation(std::uint64_t size, const Keys& keys) : size_(size), keys_(keys) {
  check(size >= 1 && size <= std::uint64_t{1} << 62, "size of a permutation");
  const int bits = std::max(2, static_cast<int>(std::bit_width(size - 1)));
  low_bits_ = bits / 2;
  low_mask_ = (std::uint64_t{1} << low_bits_) - 1;
  high_mask_ = (std::uint64_t{1} << (bits - low_bits_)) - 1;
}

std::uint64_t Permutation::operator()(std::uint64_t i) const {
  check(i < size_, "index within permutation");
  do i = pass(i);
  while (i >= size_);
  return i;
}

// Masks each half in turn with a function of the other; the same steps in reverse undo it.
std::uint64_t Permutation::pass(std::uint64_t i) const {
  std::uint64_t low = i & low_mask_;
  std::uint64_t high = i >> low_bits_;
  for (std::size_t round = 0; round < kRounds; round += 2) {
    high ^= mix(low + keys_[round]) & high_mask_;
    low ^= mix(high + keys_[round + 1]) & low_mask_;
  }
  return high << low_bits_ | low;
}

std::unique_ptr<Sampler> make_sampler(Sampling sampling, const Seed& seed, std::uint64_t examples,
                                      double rate, std::uint64_t batch) {
  if (sampling == Sampling::poisson) return make_poisson_sampler(seed, examples, rate);
  check(sampling == Sampling::shuffled, "one of two");
  return make_shuffled_sampler(seed, examples, batch);
}

namespace {

class PartOfSample final : public Sampler {
 public:
  PartOfSample(const Sampler& whole, int rank, int ranks)
      : whole_(whole), rank_(rank), ranks_(ranks) {}

  void draw(Step t, Sample& sample) const override {
    whole_.draw(t, sample);
    keep_part(sample, rank_, ranks_);
  }
  Sampling sampling() const override { return whole_.sampling(); }
  double rate() const override { return whole_.rate(); }
  bool secret() const override { return whole_.secret(); }
  std::uint64_t separation() const override { return whole_.separation(); }
  std::uint64_t participations() const override { return whole_.participations(); }
  std::string unit() const override { return whole_.unit(); }
  std::uint64_t examples_per_unit() const override { return whole_.examples_per_unit(); }

 private:
  const Sampler& whole_;
  int rank_;
  int ranks_;
};

class NeighboursUnits final : public Sampler {
 public:
  NeighboursUnits(const Sampler& whole, std::uint64_t size) : whole_(whole), size_(size) {}

  void draw(Step t, Sample& sample) const override {
    whole_.draw(t, sample);
    if (size_ == 1) return;
    sample.unit_starts.clear();
    for (std::size_t i = 0; i < sample.examples.size(); i += size_) sample.unit_starts.push_back(i);
    sample.unit_starts.push_back(sample.examples.size());
  }
  Sampling sampling() const override { return Sampling::shuffled; }
  std::string unit() const override { return size_ == 1 ? whole_.unit() : "a made-up unit"; }
  std::uint64_t examples_per_unit() const override { return size_; }

 private:
  const Sampler& whole_;
  std::uint64_t size_;
};

// Returns where part r of `ranks` parts of `size` begins.
std::size_t boundary(std::size_t size, int r, int ranks) {
  return size * static_cast<std::size_t>(r) / static_cast<std::size_t>(ranks);
}

template <class Value>
void keep_range(std::vector<Value>& values, std::size_t first, std::size_t last) {
  values.erase(values.begin() + static_cast<std::ptrdiff_t>(last), values.end());
  values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(first));
}

}  // namespace

void keep_part(std::vector<ExampleId>& examples, int rank, int ranks) {
  const std::size_t size = examples.size();
  keep_range(examples, boundary(size, rank, ranks), boundary(size, rank + 1, ranks));
}

void keep_part(Sample& sample, int rank, int ranks) {
  if (sample.unit_starts.empty()) return keep_part(sample.examples, rank, ranks);
  // The first unit that begins in the part, or behind it.
  const auto first_unit = [&](int r) {
    const auto at =
        std::ranges::lower_bound(sample.unit_starts, boundary(sample.examples.size(), r, ranks));
    return static_cast<std::size_t>(at - sample.unit_starts.begin());
  };
  const std::size_t begin = first_unit(rank);
  const std::size_t end = first_unit(rank + 1);
  const std::size_t first = sample.unit_starts[begin];
  keep_range(sample.examples, first, sample.unit_starts[end]);
  keep_range(sample.unit_starts, begin, end + 1);
  for (std::size_t& start : sample.unit_starts) start -= first;
}

std::unique_ptr<Sampler> make_neighbours_units(const Sampler& whole, std::uint64_t size) {
  return std::make_unique<NeighboursUnits>(whole, size);
}

std::unique_ptr<Sampler> make_part_of_sample(const Sampler& whole, int rank, int ranks) {
  return std::make_unique<PartOfSample>(whole, rank, ranks);
}

}  // namespace lazydp
