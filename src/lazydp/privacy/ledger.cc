#include "lazydp/privacy/ledger.h"

#include <cmath>
#include <limits>

#include "lazydp/base/error.h"

namespace lazydp {

namespace {

void require_valid(const Gaussian& event) {
  require(event.noise_multiplier >= 0 && std::isfinite(event.noise_multiplier), "noise_multiplier",
          event.noise_multiplier, "finite and not negative, for example 1.0");
}

void require_valid(const SampledGaussian& event) {
  require(event.sampling_rate > 0 && event.sampling_rate <= 1, "sampling_rate", event.sampling_rate,
          "above 0 and at most 1, for example 0.01");
  require_valid(Gaussian{event.noise_multiplier, event.steps});
}

std::uint64_t& steps_of(PrivacyEvent& event) {
  return std::visit([](auto& use) -> std::uint64_t& { return use.steps; }, event);
}

}  // namespace

void Ledger::record(const PrivacyEvent& event) {
  std::visit([](const auto& use) { require_valid(use); }, event);
  PrivacyEvent next = event;
  const std::uint64_t steps = steps_of(next);
  require(steps <= std::numeric_limits<std::uint64_t>::max() - steps_, "steps", steps,
          "small enough for the total to fit 64 bits");
  if (steps == 0) return;

  if (!events_.empty()) steps_of(next) = steps_of(events_.back());
  if (!events_.empty() && next == events_.back()) {
    steps_of(events_.back()) += steps;
  } else {
    events_.push_back(event);
  }
  steps_ += steps;
}

void Mechanism::validate() const {
  // Comparisons with NaN are false, so each condition states what is allowed.
  require(sampling_rate > 0 && sampling_rate <= 1, "sampling_rate", sampling_rate,
          "above 0 and at most 1, for example 0.01");
  require(noise_multiplier >= 0 && std::isfinite(noise_multiplier), "noise_multiplier",
          noise_multiplier, "finite and not negative, for example 1.0 (0 means no noise)");
  require(clip_norm > 0, "clip_norm", clip_norm, "positive, for example 1.0");
  require(std::isfinite(clip_norm) || noise_multiplier == 0, "clip_norm", clip_norm,
          "finite when noise_multiplier is positive: sigma > 0 with infinite C is refused");
  require(expected_batch > 0 && std::isfinite(expected_batch), "expected_batch", expected_batch,
          "positive and finite, for example 1024");
}

}  // namespace lazydp
