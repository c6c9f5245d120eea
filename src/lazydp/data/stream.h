#pragma once
// Batches in the order of the data: each step takes the next places of the file.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lazydp/data/privacy_units.h"
#include "lazydp/data/samplers.h"
#include "lazydp/data/split.h"

namespace lazydp {

// Cuts the places of a data set into windows, one for each step of an epoch, all equally long but
// for the last. A place belongs to its window whether or not an example is there: what is held out,
// or was no example, leaves a hole, and nobody else moves up. So one example more or less changes
// one step of an epoch.
class Windows {
 public:
  // Examples 0 … examples - 1, with no place between them empty.
  Windows(std::uint64_t examples, std::uint64_t places_a_step);
  // The examples of a part, at their places in the file.
  Windows(const Part& part, std::uint64_t places_a_step);

  std::uint64_t count() const { return starts_.size() - 1; }

  // The examples of window w are those from first_of(w) to first_of(w + 1) - 1.
  ExampleId first_of(std::uint64_t w) const { return starts_[w]; }
  std::uint64_t window_of(ExampleId example) const;

 private:
  std::vector<ExampleId> starts_;
};

// Returns a sampler whose step after `before` takes the first window, and so on, from epoch to
// epoch: no example is drawn, and nothing about a batch is secret.
std::unique_ptr<Sampler> make_stream_sampler(Windows windows, Step before = 0);

// How often, and how soon again, a unit may take part in the steps of a stream.
struct UnitsInStream {
  std::uint64_t participations = 1;  // steps of the whole run, at most
  std::uint64_t gap = 1;             // from one of these steps to the next, at least
  std::uint64_t most = 1;            // examples that it sends in one of them
  Step before = 0;                   // the step before the first
  Step steps = 0;                    // the last step of the run
};

// Returns a stream sampler of units. A unit takes part in the first step in which it has examples,
// and then in each that comes `gap` steps or more after the last one in which it took part, as long
// as it may; its other examples are left out. In a step it sends all of its examples, or `most` of
// them, drawn without replacement: their mean gradient is clipped as a whole. What a unit sends
// depends on its own examples and on public numbers. `units` must outlive the sampler. Takes four
// bytes an example, and a bit for each epoch.
std::unique_ptr<Sampler> make_unit_stream_sampler(const Seed& seed, Windows windows,
                                                  const PrivacyUnits& units, std::string name,
                                                  const UnitsInStream& rules);

}  // namespace lazydp
