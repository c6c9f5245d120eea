#pragma once
// Privacy units: groups of examples that are protected together, such as all examples of one
// person.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lazydp/data/samplers.h"
#include "lazydp/data/split.h"

namespace lazydp {

// Groups examples by unit. Takes eight bytes an example, and sixteen more while it is built.
class PrivacyUnits {
 public:
  // Groups by the hashes of a key, one for each example; with hash 0 an example is a unit of its
  // own.
  explicit PrivacyUnits(std::span<const std::uint64_t> keys);

  // Groups the examples of a training part by a key column.
  static PrivacyUnits of(const Part& part, std::size_t key);

  std::uint64_t size() const { return starts_.size() - 1; }
  // Returns the numbers of unit u's examples, ascending.
  std::span<const std::uint32_t> members(std::uint64_t u) const {
    return std::span(members_).subspan(starts_[u], starts_[u + 1] - starts_[u]);
  }
  std::uint64_t largest() const;

  // Returns how many examples the units would send in all, if each sent at most `most`.
  std::uint64_t sent(std::uint64_t most) const;

 private:
  std::vector<std::uint32_t> members_;
  std::vector<std::uint32_t> starts_;
};

// The most examples for which a number can be given: those that a unit sends are drawn from its
// own cell of the step, which is that long. Units may also send every example.
inline constexpr std::uint64_t kMaxExamplesPerUnit = 8192;

// Returns a sampler in which every unit joins every step with probability `rate`, independently,
// with up to `most` of its examples: all if it has no more, else `most` drawn without replacement,
// uniformly and anew in every step. With `most` = 1 every example is its own unit in the sample:
// clipping its gradient is clipping the unit's. `units` must outlive the sampler; `name` says in
// words what a unit is.
std::unique_ptr<Sampler> make_unit_sampler(const Seed& seed, const PrivacyUnits& units, double rate,
                                           std::string name, std::uint64_t most = 1);

// Returns the same sampler of units that another sampler has drawn, by their numbers.
std::unique_ptr<Sampler> make_unit_sampler(const Seed& seed, const PrivacyUnits& units,
                                           std::unique_ptr<Sampler> of_units, std::string name,
                                           std::uint64_t most);

// Draws `count` of a unit's n examples for step t, without replacement, every subset with the same
// probability: their places among the n, ascending.
void draw_members(const Seed& seed, Step t, std::uint64_t unit, std::uint64_t n,
                  std::uint64_t count, std::vector<std::uint64_t>& places);

// Says what a sampled unit sends, and what of it is clipped.
std::string sent_in_words(std::uint64_t most);

}  // namespace lazydp
