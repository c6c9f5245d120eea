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

 private:
  std::vector<SampledGaussian> events_;
  std::uint64_t steps_ = 0;
};

}  // namespace lazydp
