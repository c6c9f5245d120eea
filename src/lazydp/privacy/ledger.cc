#include "lazydp/privacy/ledger.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "lazydp/base/error.h"

namespace lazydp {

const char* block_sampling_name(BlockSampling sampling) {
  return sampling == BlockSampling::stream ? "stream" : "balls-in-bins";
}

BlockSampling block_sampling_from_name(std::string_view name) {
  if (name == "stream") return BlockSampling::stream;
  require(name == "balls-in-bins", "sampling", name, "stream or balls-in-bins");
  return BlockSampling::balls_in_bins;
}

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

void require_valid(const CorrelatedGaussian& event) {
  require_valid(Gaussian{event.noise_multiplier, event.steps});
  event.allowed.validate();
  first_column(event.bands, event.allowed.steps);  // throws if there is no known sensitivity
}

// Throws UserError if the event, merged with what came before, has more steps than it may have.
void require_room(const PrivacyEvent& event) {
  const auto* block = std::get_if<CorrelatedGaussian>(&event);
  if (block == nullptr) return;
  require(block->steps <= block->allowed.steps, "steps", block->steps,
          "at most the " + std::to_string(block->allowed.steps) +
              " that its block of correlated noise may have");
}

// Throws UserError if `event` begins a block that one of `before` is part of.
void require_new_block(const PrivacyEvent& event, std::span<const PrivacyEvent> before) {
  const auto* block = std::get_if<CorrelatedGaussian>(&event);
  if (block == nullptr) return;
  for (const PrivacyEvent& earlier : before) {
    const auto* other = std::get_if<CorrelatedGaussian>(&earlier);
    if (other == nullptr || other->after_step != block->after_step) continue;
    throw UserError(
        "a block of correlated noise goes on as another one, or after other steps; such steps need "
        "a block of their own");
  }
}

std::uint64_t& steps_of(PrivacyEvent& event) {
  return std::visit([](auto& use) -> std::uint64_t& { return use.steps; }, event);
}

}  // namespace

void Ledger::record(const PrivacyEvent& event) {
  PrivacyEvent next = event;
  const std::uint64_t steps = steps_of(next);
  require(steps <= std::numeric_limits<std::uint64_t>::max() - steps_, "steps", steps,
          "small enough for the total to fit 64 bits");
  const auto run = std::span(events_).subspan(runs_.empty() ? 0 : runs_.back());
  if (!run.empty()) steps_of(next) = steps_of(run.back());
  const bool goes_on = !run.empty() && next == run.back();
  if (!goes_on) {
    std::visit([](const auto& use) { require_valid(use); }, event);
    require_new_block(event, run);
  }
  steps_of(next) = goes_on ? steps_of(run.back()) + steps : steps;
  require_room(next);
  if (steps == 0) return;

  if (goes_on) {
    run.back() = std::move(next);
  } else {
    events_.push_back(std::move(next));
  }
  steps_ += steps;
}

void Ledger::append(const Ledger& other) {
  require(other.steps_ <= std::numeric_limits<std::uint64_t>::max() - steps_, "steps", other.steps_,
          "small enough for the total to fit 64 bits");
  for (std::size_t i = 0; i < other.events_.size(); ++i) {
    if (i == 0 || other.begins_run(i)) begin_run();
    PrivacyEvent event = other.events_[i];
    if (auto* block = std::get_if<CorrelatedGaussian>(&event)) block->disjoint = false;
    steps_ += steps_of(event);
    events_.push_back(std::move(event));
  }
  begin_run();
}

void Ledger::begin_run() {
  const std::size_t first = events_.size();
  if (first > 0 && (runs_.empty() || runs_.back() != first)) runs_.push_back(first);
}

bool Ledger::begins_run(std::size_t event) const {
  return std::ranges::binary_search(runs_, event);
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
