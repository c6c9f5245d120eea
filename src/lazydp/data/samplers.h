#pragma once
// Samplers: which examples make up the batch of a step.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lazydp/base/types.h"
#include "lazydp/data/dataset.h"
#include "lazydp/random/seed.h"

namespace lazydp {

inline constexpr const char* kExampleUnit = "one example";

inline constexpr std::uint64_t kAnyNumberOfTimes = std::numeric_limits<std::uint64_t>::max();

inline constexpr std::uint64_t kEveryExampleOfAUnit = std::numeric_limits<std::uint64_t>::max();

// The examples of a step.
struct Sample {
  std::vector<ExampleId> examples;
  // As Batch::unit_starts. Empty: every example is a unit of its own.
  std::vector<std::size_t> unit_starts;
};

// Makes `batch` hold the examples and the units of a sample.
void read_sample(const Dataset& dataset, const Sample& sample, Batch& batch);

// How examples come to the batches of steps.
enum class Sampling : std::uint8_t {
  poisson,   // each joins each step with the same probability, independently
  shuffled,  // batches of a fixed size from a fresh permutation in each epoch: nothing is claimed
  stream,    // in the order of the data
  balls_in_bins  // each is in one secret step of every epoch
};

// The values that --sampling takes.
inline constexpr std::array<std::pair<std::string_view, Sampling>, 4> kSamplings = {
    {{"poisson", Sampling::poisson},
     {"shuffled", Sampling::shuffled},
     {"stream", Sampling::stream},
     {"balls-in-bins", Sampling::balls_in_bins}}};

std::string_view sampling_name(Sampling sampling);

// Returns whether accountants take it for unknown who is in which batch.
inline bool relies_on_secrecy(Sampling sampling) {
  return sampling == Sampling::poisson || sampling == Sampling::balls_in_bins;
}

// The batch of step t is a pure function of (seed, t): steps may be drawn in any order, and a step
// that is replayed after a crash draws the same examples.
class Sampler {
 public:
  virtual ~Sampler() = default;

  // Makes `sample` that of step t >= 1. Reuses its memory.
  virtual void draw(Step t, Sample& sample) const = 0;

  virtual Sampling sampling() const = 0;

  // For a Poisson sampler: the probability of joining.
  virtual double rate() const { return 0.0; }

  // Returns whether what is drawn is unpredictable, where privacy relies on that.
  virtual bool secret() const { return false; }

  // Returns how many steps at least lie between one batch that an example (or unit) is in and its
  // next one, and in how many of the run's it is at most; where nothing is known: 0, and any
  // number.
  virtual std::uint64_t separation() const { return 0; }
  virtual std::uint64_t participations() const { return kAnyNumberOfTimes; }

  // Returns in words what joins a step: the unit that a claim protects.
  virtual std::string unit() const { return kExampleUnit; }

  // Returns the most examples that one of them sends.
  virtual std::uint64_t examples_per_unit() const { return 1; }
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

// Returns a sampler of the same examples in made-up units, `size` neighbours each: for timing steps
// of units. `whole` must outlive it.
std::unique_ptr<Sampler> make_neighbours_units(const Sampler& whole, std::uint64_t size);

// Returns a Poisson sampler of this rate, or a shuffled one of this batch.
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

// Draws the sample of a step as one process would, whatever the number of ranks, and cuts it,
// between units, into neighbouring parts of about equal size: rank r receives the r-th. A part may
// be empty. `whole` must outlive the sampler that is returned.
std::unique_ptr<Sampler> make_part_of_sample(const Sampler& whole, int rank, int ranks);

// Keeps the r-th of `ranks` parts, in place. A unit is never cut: its norm is computed by one rank.
void keep_part(std::vector<ExampleId>& examples, int rank, int ranks);
void keep_part(Sample& sample, int rank, int ranks);

// Returns a sampler in which every example draws one of `bins` bins, once, uniformly and
// independently, and is in the step of that bin in every epoch of `bins` steps. The examples of a
// bin ascend. Privacy amplification requires that the bins are unknown to an adversary: the seed
// must be secret. Takes four bytes an example. Throws UserError for 2^32 examples or more.
std::unique_ptr<Sampler> make_bins_sampler(const Seed& seed, std::uint64_t population,
                                           std::uint64_t bins);

}  // namespace lazydp
