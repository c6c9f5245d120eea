#pragma once
// What was done to the data: the facts from which every accountant computes its bound.

#include <cstdint>
#include <span>
#include <vector>

namespace lazydp {

// `steps` uses of the Poisson-subsampled Gaussian mechanism. Neighbouring data sets differ by
// adding or removing one example (or one privacy unit, if that is what is sampled and clipped).
struct SampledGaussian {
  double sampling_rate;     // in (0, 1]
  double noise_multiplier;  // noise std / sensitivity; 0: no noise, hence no privacy
  std::uint64_t steps;      // uses in a row

  // Equal in every field.
  bool operator==(const SampledGaussian&) const = default;
};

// A list of facts in the order they happened. It computes nothing, so any accountant can read it,
// now or years later. Invariants: every event is valid and has steps; no two neighbours could
// merge.
class Ledger {
 public:
  // Adds an event, merged with the last one where only `steps` differ. No steps: nothing happened.
  // Throws UserError for values that no mechanism can have.
  void record(const SampledGaussian& event);

  std::span<const SampledGaussian> events() const { return events_; }  // in their order
  std::uint64_t steps() const { return steps_; }                       // of all events
  bool empty() const { return events_.empty(); }

 private:
  std::vector<SampledGaussian> events_;
  std::uint64_t steps_ = 0;
};

// What decides the privacy guarantee, and nothing else.

// Every field is public: none may be computed from the data. Changing any of them changes what may
// be claimed; what only changes speed or memory does not belong here.
struct Mechanism {
  double sampling_rate;     // each example joins each step with this probability, on its own
  double clip_norm;         // no example's gradient is longer than this
  double noise_multiplier;  // std of the noise on the clipped sum, divided by clip_norm
  double expected_batch;    // the noisy sum is divided by this public number

  // Throws UserError that names the field, the value given and what is allowed.
  void validate() const;
};

}  // namespace lazydp
