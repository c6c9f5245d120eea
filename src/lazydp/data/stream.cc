#include "lazydp/data/stream.h"

#include <algorithm>
#include <utility>

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

std::vector<ExampleId> cut(std::uint64_t places, std::uint64_t places_a_step,
                           const std::function<ExampleId(std::uint64_t)>& before) {
  check(places > 0 && places_a_step > 0, "steps that take some places");
  std::vector<ExampleId> starts;
  starts.reserve((places - 1) / places_a_step + 2);
  for (std::uint64_t place = 0; place < places; place += places_a_step) {
    starts.push_back(before(place));
  }
  starts.push_back(before(places));
  return starts;
}

}  // namespace

Windows::Windows(std::uint64_t examples, std::uint64_t places_a_step)
    : starts_(cut(examples, places_a_step, [](std::uint64_t place) { return place; })) {}

Windows::Windows(const Part& part, std::uint64_t places_a_step)
    : starts_(cut(part.file().places(), places_a_step,
                  [&](std::uint64_t place) { return part.before(place); })) {}

std::uint64_t Windows::window_of(ExampleId example) const {
  const auto after = std::ranges::upper_bound(starts_, example);
  return static_cast<std::uint64_t>(after - starts_.begin()) - 1;
}

namespace {

class StreamSampler : public Sampler {
 public:
  StreamSampler(Windows windows, Step before) : windows_(std::move(windows)), before_(before) {}

  void draw(Step t, Sample& sample) const override {
    check(t > before_, "a step of the stream");
    const std::uint64_t window = (t - before_ - 1) % windows_.count();
    sample.unit_starts.clear();
    sample.examples.clear();
    for (ExampleId i = windows_.first_of(window); i < windows_.first_of(window + 1); ++i) {
      sample.examples.push_back(i);
    }
  }

  Sampling sampling() const override { return Sampling::stream; }
  std::uint64_t separation() const override { return windows_.count(); }

 protected:
  const Windows& windows() const { return windows_; }
  std::uint64_t epoch_of(Step t) const { return (t - before_ - 1) / windows_.count(); }

 private:
  Windows windows_;
  Step before_;
};

class UnitStreamSampler final : public StreamSampler {
 public:
  UnitStreamSampler(const Seed& seed, Windows windows, const PrivacyUnits& units, std::string name,
                    const UnitsInStream& rules)
      : StreamSampler(std::move(windows), rules.before),
        seed_(seed),
        name_(std::move(name)),
        rules_(rules),
        examples_(this->windows().first_of(this->windows().count())),
        unit_of_(examples_) {
    sent_.resize(examples_ * (epoch_of(rules.steps) + 1));
    for (std::uint64_t u = 0; u < units.size(); ++u) choose_steps(u, units.members(u));
  }

  void draw(Step t, Sample& sample) const override {
    StreamSampler::draw(t, sample);
    const std::uint64_t epoch = epoch_of(t);
    check((epoch + 1) * examples_ <= sent_.size(), "a step of the run");
    std::vector<ExampleId>& examples = sample.examples;
    std::erase_if(examples, [&](ExampleId i) { return !sent_[epoch * examples_ + i]; });
    std::ranges::stable_sort(examples, {}, [&](ExampleId i) { return unit_of_[i]; });
    sample.unit_starts.assign(1, 0);
    std::size_t kept = 0;
    for (std::size_t first = 0, last = 0; first < examples.size(); first = last) {
      const std::uint64_t unit = unit_of_[examples[first]];
      while (last < examples.size() && unit_of_[examples[last]] == unit) ++last;
      kept = keep_some(t, unit, sample, first, last, kept);
      sample.unit_starts.push_back(kept);
    }
    examples.resize(kept);
  }

  std::string unit() const override { return name_; }
  std::uint64_t examples_per_unit() const override { return rules_.most; }
  std::uint64_t separation() const override { return rules_.gap; }
  std::uint64_t participations() const override { return rules_.participations; }

 private:
  // Marks what unit u sends in which epoch.
  void choose_steps(std::uint64_t u, std::span<const std::uint32_t> members) {
    for (const std::uint32_t i : members) unit_of_[i] = static_cast<std::uint32_t>(u);
    std::uint64_t last = 0;  // the step in which it took part
    std::uint64_t times = 0;
    for (std::uint64_t epoch = 0; epoch * examples_ < sent_.size(); ++epoch) {
      for (const std::uint32_t i : members) {
        const std::uint64_t t = epoch * windows().count() + windows().window_of(i) + 1;
        if (times == 0 || (t != last && t - last >= rules_.gap && times < rules_.participations)) {
          last = t;
          ++times;
        }
        if (t == last) sent_[epoch * examples_ + i] = true;
      }
    }
  }

  // Moves the examples first … last - 1 of a unit, or `most` of them, to `to`, and returns where
  // they end.
  std::size_t keep_some(Step t, std::uint64_t unit, Sample& sample, std::size_t first,
                        std::size_t last, std::size_t to) const {
    std::vector<ExampleId>& examples = sample.examples;
    if (last - first <= rules_.most) {
      for (; first < last; ++first) examples[to++] = examples[first];
      return to;
    }
    thread_local std::vector<std::uint64_t> places;
    draw_members(seed_, t, unit, last - first, rules_.most, places);
    for (const std::uint64_t place : places) examples[to++] = examples[first + place];
    return to;
  }

  Seed seed_;
  std::string name_;
  UnitsInStream rules_;
  std::uint64_t examples_;
  std::vector<std::uint32_t> unit_of_;
  std::vector<bool> sent_;  // [epoch * examples + example]
};

}  // namespace

std::unique_ptr<Sampler> make_stream_sampler(Windows windows, Step before) {
  return std::make_unique<StreamSampler>(std::move(windows), before);
}

std::unique_ptr<Sampler> make_unit_stream_sampler(const Seed& seed, Windows windows,
                                                  const PrivacyUnits& units, std::string name,
                                                  const UnitsInStream& rules) {
  check(
      rules.participations >= 1 && rules.gap >= 1 && rules.most >= 1 && rules.steps > rules.before,
      "units that take part");
  return std::make_unique<UnitStreamSampler>(seed, std::move(windows), units, std::move(name),
                                             rules);
}

}  // namespace lazydp
