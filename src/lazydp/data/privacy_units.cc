#include "lazydp/data/privacy_units.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/random/stream.h"

namespace lazydp {
namespace {

constexpr TableId kMemberStream = 2;
constexpr TableId kMembersStream = 3;

// A sample of units, which subclasses turn into examples.
class UnitSampler : public Sampler {
 public:
  UnitSampler(const Seed& seed, const PrivacyUnits& units, std::unique_ptr<Sampler> of_units,
              std::string name)
      : seed_(seed), units_(units), sample_units_(std::move(of_units)), name_(std::move(name)) {}

  Sampling sampling() const override { return sample_units_->sampling(); }
  double rate() const override { return sample_units_->rate(); }
  bool secret() const override { return sample_units_->secret(); }
  std::uint64_t separation() const override { return sample_units_->separation(); }
  std::string unit() const override { return name_; }

 protected:
  const Seed& seed() const { return seed_; }
  const PrivacyUnits& units() const { return units_; }

  // Makes the examples of `sample` the numbers of the units that join.
  void draw_units(Step t, Sample& sample) const { sample_units_->draw(t, sample); }

 private:
  Seed seed_;
  const PrivacyUnits& units_;
  std::unique_ptr<Sampler> sample_units_;
  std::string name_;
};

// Sends one example of each unit. One stream serves all units of a step.
class OneOfEachUnit final : public UnitSampler {
 public:
  using UnitSampler::UnitSampler;

  void draw(Step t, Sample& sample) const override {
    draw_units(t, sample);
    RandomStream random(seed(), Purpose::sampling, kMemberStream, t);
    for (ExampleId& unit : sample.examples) {
      const std::span<const std::uint32_t> members = units().members(unit);
      unit = members[random.below(members.size())];
    }
  }
};

// Sends up to `most` examples of each unit. What a unit sends depends on its number and the step
// alone, not on which other units join.
class SomeOfEachUnit final : public UnitSampler {
 public:
  SomeOfEachUnit(const Seed& seed, const PrivacyUnits& all, std::unique_ptr<Sampler> of_units,
                 std::string name, std::uint64_t most)
      : UnitSampler(seed, all, std::move(of_units), std::move(name)), most_(most) {}

  void draw(Step t, Sample& sample) const override {
    thread_local Sample joined;
    draw_units(t, joined);
    sample.examples.clear();
    sample.unit_starts.assign(1, 0);
    for (const ExampleId unit : joined.examples) {
      send(t, unit, sample.examples);
      sample.unit_starts.push_back(sample.examples.size());
    }
  }

  std::uint64_t examples_per_unit() const override { return most_; }

 private:
  void send(Step t, std::uint64_t unit, std::vector<ExampleId>& to) const {
    const std::span<const std::uint32_t> members = units().members(unit);
    if (members.size() <= most_) {
      to.insert(to.end(), members.begin(), members.end());
      return;
    }
    thread_local std::vector<std::uint64_t> places;
    draw_members(seed(), t, unit, members.size(), most_, places);
    for (const std::uint64_t place : places) to.push_back(members[place]);
  }

  std::uint64_t most_;
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

std::uint64_t PrivacyUnits::sent(std::uint64_t most) const {
  std::uint64_t sum = 0;
  for (std::uint64_t u = 0; u < size(); ++u) {
    sum += std::min(most, std::uint64_t{members(u).size()});
  }
  return sum;
}

// Takes Floyd's algorithm (Bentley 1987).
void draw_members(const Seed& seed, Step t, std::uint64_t unit, std::uint64_t n,
                  std::uint64_t count, std::vector<std::uint64_t>& places) {
  RandomStream random(seed, Purpose::sampling, kMembersStream, t, static_cast<RowId>(unit));
  places.clear();
  for (std::uint64_t last = n - count; last < n; ++last) {
    const std::uint64_t place = random.below(last + 1);
    const auto at = std::ranges::lower_bound(places, place);
    if (at != places.end() && *at == place) {
      places.push_back(last);  // above all that were drawn before
    } else {
      places.insert(at, place);
    }
  }
}

std::unique_ptr<Sampler> make_unit_sampler(const Seed& seed, const PrivacyUnits& units, double rate,
                                           std::string name, std::uint64_t most) {
  return make_unit_sampler(seed, units, make_poisson_sampler(seed, units.size(), rate),
                           std::move(name), most);
}

std::unique_ptr<Sampler> make_unit_sampler(const Seed& seed, const PrivacyUnits& units,
                                           std::unique_ptr<Sampler> of_units, std::string name,
                                           std::uint64_t most) {
  check(most >= 1 && (most <= kMaxExamplesPerUnit || most == kEveryExampleOfAUnit),
        "units send as many examples as can be drawn");
  if (most == 1) {
    return std::make_unique<OneOfEachUnit>(seed, units, std::move(of_units), std::move(name));
  }
  return std::make_unique<SomeOfEachUnit>(seed, units, std::move(of_units), std::move(name), most);
}

std::string sent_in_words(std::uint64_t most) {
  if (most == 1) return "one of its examples, drawn anew in each step";
  const std::string what =
      most == kEveryExampleOfAUnit
          ? "all of its examples"
          : "up to " + std::to_string(most) + " of its examples, drawn anew in each step";
  return what + ", whose mean gradient is clipped as a whole";
}

}  // namespace lazydp
