#pragma once
// Privacy units: groups of examples that are protected together, such as all examples of one
// person.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
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

 private:
  std::vector<std::uint32_t> members_;
  std::vector<std::uint32_t> starts_;
};

// Returns a sampler in which every unit joins every step with probability `rate`, independently,
// with one of its examples, drawn uniformly and anew in every step. A unit therefore has at most
// one example in a batch, and clipping an example's gradient is clipping the unit's. `units` must
// outlive the sampler; `name` says in words what a unit is.
std::unique_ptr<Sampler> make_unit_sampler(const Seed& seed, const PrivacyUnits& units, double rate,
                                           std::string name);

}  // namespace lazydp
