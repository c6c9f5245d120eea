#include "lazydp/data/privacy_units.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/random/stream.h"

namespace lazydp {
namespace {

constexpr TableId kMemberStream = 2;

class UnitSampler final : public Sampler {
 public:
  UnitSampler(const Seed& seed, const PrivacyUnits& units, double rate, std::string name)
      : seed_(seed),
        units_(units),
        sample_units_(make_poisson_sampler(seed, units.size(), rate)),
        name_(std::move(name)) {}

  void draw(Step t, std::vector<ExampleId>& examples) const override {
    sample_units_->draw(t, examples);
    RandomStream random(seed_, Purpose::sampling, kMemberStream, t);
    for (ExampleId& unit : examples) {
      const std::span<const std::uint32_t> members = units_.members(unit);
      unit = members[random.below(members.size())];
    }
  }

  bool poisson() const override { return true; }
  double rate() const override { return sample_units_->rate(); }
  bool secret() const override { return sample_units_->secret(); }
  std::string unit() const override { return name_; }

 private:
  Seed seed_;
  const PrivacyUnits& units_;
  std::unique_ptr<Sampler> sample_units_;
  std::string name_;
};

}  // namespace

PrivacyUnits::PrivacyUnits(std::span<const std::uint64_t> keys) {
  check(keys.size() < std::numeric_limits<std::uint32_t>::max(),
        "examples are numbered in 32 bits");
  std::vector<std::pair<std::uint64_t, std::uint32_t>> order;
  order.reserve(keys.size());
  for (std::uint32_t i = 0; i < keys.size(); ++i) order.emplace_back(keys[i], i);
  std::ranges::sort(order);
  members_.reserve(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool begins = i == 0 || order[i].first == 0 || order[i].first != order[i - 1].first;
    if (begins) starts_.push_back(static_cast<std::uint32_t>(i));
    members_.push_back(order[i].second);
  }
  starts_.push_back(static_cast<std::uint32_t>(order.size()));
}

PrivacyUnits PrivacyUnits::of(const Part& part, std::size_t key) {
  std::vector<std::uint64_t> keys(part.size());
  for (ExampleId i = 0; i < keys.size(); ++i) keys[i] = part.file().key_of(part.in_file(i), key);
  return PrivacyUnits(keys);
}

std::uint64_t PrivacyUnits::largest() const {
  std::uint64_t most = 0;
  for (std::uint64_t u = 0; u < size(); ++u)
    most = std::max(most, std::uint64_t{members(u).size()});
  return most;
}

std::unique_ptr<Sampler> make_unit_sampler(const Seed& seed, const PrivacyUnits& units, double rate,
                                           std::string name) {
  return std::make_unique<UnitSampler>(seed, units, rate, std::move(name));
}

}  // namespace lazydp
