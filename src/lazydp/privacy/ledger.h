#pragma once
// The record of a run's uses of the data, from which every accountant computes its bound.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "lazydp/privacy/correlated_noise.h"

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

// How an example comes to its steps of a block of correlated noise.
enum class BlockSampling : std::uint8_t {
  stream,         // by its place in the data, or as it may please: nothing is drawn
  balls_in_bins,  // it is in one secret, uniformly drawn step of the first `separation` ones, and
                  // in every `separation`th step after it
};

// Returns "stream" or "balls-in-bins", and the other way round; UserError for any other name.
const char* block_sampling_name(BlockSampling sampling);
BlockSampling block_sampling_from_name(std::string_view name);  // throws UserError

// The first `steps` steps of a block whose noise is correlated (correlated_noise.h). Neighbouring
// data sets differ by one example (or privacy unit) whose lines are blank: it contributes nothing,
// and all others keep their places ("zero-out").
//
// A block is under one noise key, with one sigma. Stopping it early costs what its first `steps`
// steps cost, if that number was fixed in advance; the cost of all allowed steps covers any stop.
struct CorrelatedGaussian {
  std::vector<double> bands = {};  // of the inverse: d_0 = 1, d_1, ...
  double noise_multiplier = 0.0;   // sigma; not divided by the block's sensitivity
  Participation allowed = {};      // of an example, and how many steps the block may have
  BlockSampling sampling = BlockSampling::stream;  // how an example comes to its steps
  std::uint64_t after_step = 0;  // the block begins after this step of its run: tells blocks apart
  bool disjoint = false;         // declared: no example of this block is in another disjoint block
  std::uint64_t steps = 0;       // those that were taken

  // Equal if every field is.
  bool operator==(const CorrelatedGaussian&) const = default;
};

// One use of the data, or several alike. Another mechanism is another alternative: nothing compiles
// until ledger.cc says which values it can have, composition.cc and phases.cc what it costs,
// trade_off.cc what of it shows in the sum of all steps, and ledger_json.cc how it is stored.
using PrivacyEvent = std::variant<SampledGaussian, Gaussian, CorrelatedGaussian>;

// Returns the event's noise multiplier: 0 without noise.
inline double noise_multiplier(const PrivacyEvent& event) {
  return std::visit([](const auto& use) { return use.noise_multiplier; }, event);
}

// Returns how likely an example is to take part in a use: 1 where that is not drawn anew for each.
inline double sampling_rate(const PrivacyEvent& event) {
  const auto* sampled = std::get_if<SampledGaussian>(&event);
  return sampled != nullptr ? sampled->sampling_rate : 1.0;
}

// A list of events in the order in which they happened. It computes nothing, so any accountant can
// read it, now or years later. Invariants: every event is valid and has steps; no two neighbours
// of one run could merge; a block of correlated noise is one event.
class Ledger {
 public:
  // Adds an event, merged with the last one where only `steps` differ. An event without steps adds
  // nothing. Throws UserError for values that no mechanism can have, for more steps than a block
  // allows, and for steps of a block that was left.
  void record(const PrivacyEvent& event);

  // Adds steps that sample, as above: for {rate, noise, steps} in braces.
  void record(const SampledGaussian& event) { record(PrivacyEvent(event)); }

  // Adds the events of another run on the same data. None merges with one of this ledger, and none
  // stays disjoint: that was said of blocks within one run.
  void append(const Ledger& other);

  // Makes the events to come those of another run: none merges with one that is there, nor are its
  // blocks this run's. Does nothing if nothing is there.
  void begin_run();

  // Returns whether another run begins with the event of this number.
  bool begins_run(std::size_t event) const;

  std::span<const PrivacyEvent> events() const { return events_; }  // in order
  std::uint64_t steps() const { return steps_; }                    // over all events
  bool empty() const { return events_.empty(); }                    // nothing happened yet

 private:
  std::vector<PrivacyEvent> events_;
  std::vector<std::size_t> runs_;  // the first events of all runs but the first, ascending
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
