#pragma once
// The record of a run's uses of the data, from which every accountant computes its bound.

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace lazydp {

// `steps` uses of the Poisson-subsampled Gaussian mechanism. Neighbouring data sets differ by
// adding or removing one example (or one privacy unit, if that is what is sampled and clipped).
struct SampledGaussian {
  double sampling_rate;     // in (0, 1]
  double noise_multiplier;  // noise std / sensitivity; 0: no noise, hence no privacy
  std::uint64_t steps;      // consecutive uses

  // Equal if every field is.
  bool operator==(const SampledGaussian&) const = default;
};

// `steps` uses of the Gaussian mechanism on all examples: a noisy sum to which each contributes at
// most the sensitivity.
struct Gaussian {
  double noise_multiplier;  // noise std / sensitivity; 0: no noise, hence no privacy
  std::uint64_t steps;      // consecutive uses

  // Equal if every field is.
  bool operator==(const Gaussian&) const = default;
};

// One use of the data, or several alike. Another mechanism is another alternative: nothing compiles
// until ledger.cc says which values it can have, phases.cc what it costs and ledger_json.cc how it
// is stored.
using PrivacyEvent = std::variant<SampledGaussian, Gaussian>;

// Returns the event's noise std / sensitivity.
inline double noise_multiplier(const PrivacyEvent& event) {
  return std::visit([](const auto& use) { return use.noise_multiplier; }, event);
}

// Returns how likely an example is to take part in a use: 1 where nothing is sampled.
inline double sampling_rate(const PrivacyEvent& event) {
  const auto* sampled = std::get_if<SampledGaussian>(&event);
  return sampled != nullptr ? sampled->sampling_rate : 1.0;
}

// A list of events in the order in which they happened. It computes nothing, so any accountant can
// read it, now or years later. Invariants: every event is valid and has steps; no two neighbours
// could merge.
class Ledger {
 public:
  // Adds an event, merged with the last one where only `steps` differ. An event without steps adds
  // nothing. Throws UserError for values that no mechanism can have.
  void record(const PrivacyEvent& event);

  // Adds steps that sample, as above: for {rate, noise, steps} in braces.
  void record(const SampledGaussian& event) { record(PrivacyEvent(event)); }

  std::span<const PrivacyEvent> events() const { return events_; }  // in order
  std::uint64_t steps() const { return steps_; }                    // over all events
  bool empty() const { return events_.empty(); }                    // nothing happened yet

 private:
  std::vector<PrivacyEvent> events_;
  std::uint64_t steps_ = 0;
};

// The parameters that decide the privacy guarantee, and nothing else.
//
// Every field is public: none may be computed from the data. Changing any of them changes what may
// be claimed; a parameter that changes only speed or memory does not belong here.
struct Mechanism {
  double sampling_rate;     // each example joins each step with this probability, independently
  double clip_norm;         // no example's gradient is longer than this
  double noise_multiplier;  // std of the noise on the clipped sum, divided by clip_norm
  double expected_batch;    // the noisy sum is divided by this public number

  // Throws UserError that names the field, the value given and what is allowed.
  void validate() const;
};

}  // namespace lazydp
