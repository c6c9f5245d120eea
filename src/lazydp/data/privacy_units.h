#pragma once
// Privacy units: all examples that belong to one person, say, taken together.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lazydp/data/samplers.h"
#include "lazydp/data/split.h"

namespace lazydp {

// Eight bytes an example, and sixteen more while it is made.
class Units {
 public:
  // By the hashes of a key, one for each example; 0 makes an example a unit of its own.
  explicit Units(std::span<const std::uint64_t> keys);

  // By a key column of what is trained on.
  static Units of(const Part& part, std::size_t key);

  std::uint64_t size() const { return starts_.size() - 1; }
  // The examples of unit u, by number, ascending.
  std::span<const std::uint32_t> members(std::uint64_t u) const {
    return std::span(members_).subspan(starts_[u], starts_[u + 1] - starts_[u]);
  }
  std::uint64_t largest() const;

 private:
  std::vector<std::uint32_t> members_;
  std::vector<std::uint32_t> starts_;
};

// Every unit joins every step with probability `rate`, independently, and sends one of its
// examples, drawn uniformly and anew in every step. So a unit has at most one example in a batch,
// and clipping an example's gradient is clipping the unit's. `units` outlives the sampler; `name`
// says in words what a unit is.
std::unique_ptr<Sampler> make_unit_sampler(const Seed& seed, const Units& units, double rate,
                                           std::string name);

}  // namespace lazydp
