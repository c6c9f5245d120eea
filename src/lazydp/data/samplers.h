#pragma once
// Samplers: which examples make up the batch of a step.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lazydp/base/types.h"
#include "lazydp/data/dataset.h"
#include "lazydp/random/seed.h"

namespace lazydp {

inline constexpr const char* kExampleUnit = "one example";

// The batch of step t is a pure function of (seed, t): steps may be drawn in any order, and a step
// that is replayed after a crash draws the same examples.
class Sampler {
 public:
  virtual ~Sampler() = default;

  // Makes `examples` the batch of step t >= 1. Reuses its memory.
  virtual void draw(Step t, std::vector<ExampleId>& examples) const = 0;

  // Returns whether examples join independently of each other, as the accountants assume.
  virtual bool poisson() const = 0;

  // For a Poisson sampler: the probability of joining, and whether the draws are unpredictable.
  virtual double rate() const { return 0.0; }
  virtual bool secret() const { return false; }

  // Returns in words what joins a step: the unit that a claim protects.
  virtual std::string unit() const { return kExampleUnit; }
};

inline constexpr std::uint64_t kMaxExamples = std::uint64_t{1} << 40;

// Returns a sampler in which every example joins every step with probability `rate`, independently;
// ids ascend. A batch may be empty. Privacy amplification requires that the members of a batch are
// unknown to an adversary: the seed must be secret.
std::unique_ptr<Sampler> make_poisson_sampler(const Seed& seed, std::uint64_t population,
                                              double rate);

// Returns a sampler of exactly `batch` examples a step, which walks through a fresh permutation of
// all examples in every epoch and across its end. For benchmarks: no accountant covers it, so no
// epsilon is claimed.
std::unique_ptr<Sampler> make_shuffled_sampler(const Seed& seed, std::uint64_t population,
                                               std::uint64_t batch);

enum class Sampling : std::uint8_t { poisson, shuffled };

// `rate` is used by Poisson sampling, `batch` by shuffled sampling.
std::unique_ptr<Sampler> make_sampler(Sampling sampling, const Seed& seed, std::uint64_t examples,
                                      double rate, std::uint64_t batch);

// A keyed permutation of 0 ... n - 1 that is computed for one index at a time, without a table in
// memory.
//
// A Feistel network permutes the smallest power of two that holds n; a value that lands outside is
// sent through again until it lands inside ("cycle walking"), fewer than two passes on average. Its
// round function is fast rather than secret: good for shuffling, not for privacy.
class Permutation {
 public:
  static constexpr std::size_t kRounds = 8;  // even, so that the halves return to their sides
  using Keys = std::array<std::uint64_t, kRounds>;

  Permutation(std::uint64_t size, const Keys& keys);  // size in [1, 2^62]

  // Returns the image of `i`; a bijection of [0, size).
  std::uint64_t operator()(std::uint64_t i) const;

 private:
  std::uint64_t pass(std::uint64_t i) const;

  std::uint64_t size_;
  int low_bits_;
  std::uint64_t low_mask_;
  std::uint64_t high_mask_;
  Keys keys_;
};

// Gives a rank its part of the examples of a step.

// Draws the sample of a step as one process would, whatever the number of ranks, and cuts it into
// neighbouring parts of equal size: rank r receives the r-th. A part may be empty. `whole` must
// outlive the sampler that is returned.
std::unique_ptr<Sampler> make_part_of_sample(const Sampler& whole, int rank, int ranks);

// Keeps the r-th of `ranks` parts of `examples`, in place.
void keep_part(std::vector<ExampleId>& examples, int rank, int ranks);

}  // namespace lazydp
