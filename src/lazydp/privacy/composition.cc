#include "lazydp/privacy/composition.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lazydp {

Gaussian as_one_gaussian(const CorrelatedGaussian& block) {
  Participation taken = block.allowed;
  taken.steps = block.steps;
  return {block.noise_multiplier / sensitivity(block.bands, taken), 1};
}

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Return mu^2 of an event, or nothing if it samples. Squares of mu add up (Dong, Roth, Su 2019).
std::optional<double> mu_squared(const Gaussian& event) {
  const double sigma = event.noise_multiplier;
  return sigma > 0 ? static_cast<double>(event.steps) / (sigma * sigma) : kInfinity;
}

std::optional<double> mu_squared(const SampledGaussian& event) {
  if (event.sampling_rate < 1) return std::nullopt;
  return mu_squared(Gaussian{event.noise_multiplier, event.steps});
}

std::optional<double> mu_squared(const CorrelatedGaussian& event) {
  if (event.sampling == BlockSampling::balls_in_bins) return std::nullopt;
  return mu_squared(as_one_gaussian(event));
}

const CorrelatedGaussian* disjoint_block(const PrivacyEvent& event) {
  const auto* block = std::get_if<CorrelatedGaussian>(&event);
  return block != nullptr && block->disjoint ? block : nullptr;
}

// Returns the block as one of any run: two that cost the same are equal.
CorrelatedGaussian without_place(CorrelatedGaussian block) {
  block.after_step = 0;
  return block;
}

Ledger of_one_event(const PrivacyEvent& event) {
  Ledger ledger;
  ledger.record(event);
  return ledger;
}

}  // namespace

bool has_secret_bins(const PrivacyEvent& event) {
  const auto* block = std::get_if<CorrelatedGaussian>(&event);
  return block != nullptr && block->sampling == BlockSampling::balls_in_bins &&
         block->noise_multiplier > 0;
}

SecretBins secret_bins(const Ledger& ledger) {
  SecretBins apart;
  for (const PrivacyEvent& event : ledger.events()) {
    if (has_secret_bins(event)) {
      apart.blocks.push_back(std::get<CorrelatedGaussian>(event));
    } else {
      apart.rest.append(of_one_event(event));
    }
  }
  return apart;
}

Ledger with_known_bins(const Ledger& ledger) {
  Ledger known;
  for (PrivacyEvent event : ledger.events()) {
    if (auto* block = std::get_if<CorrelatedGaussian>(&event)) {
      block->sampling = BlockSampling::stream;
    }
    known.append(of_one_event(event));
  }
  return known;
}

bool blanks_an_example(const Ledger& ledger) {
  return std::ranges::any_of(ledger.events(), [](const PrivacyEvent& event) {
    return std::holds_alternative<CorrelatedGaussian>(event);
  });
}

std::optional<double> exact_mu(const Ledger& ledger) {
  double sum = 0.0;
  for (const PrivacyEvent& event : ledger.events()) {
    const auto squared = std::visit([](const auto& use) { return mu_squared(use); }, event);
    if (!squared) return std::nullopt;
    sum += *squared;
  }
  return std::sqrt(sum);
}

std::vector<Ledger> ledgers_of_one_example(const Ledger& ledger) {
  std::vector<CorrelatedGaussian> disjoint;  // those of different costs
  for (const PrivacyEvent& event : ledger.events()) {
    const CorrelatedGaussian* block = disjoint_block(event);
    if (block != nullptr && std::ranges::find(disjoint, without_place(*block)) == disjoint.end()) {
      disjoint.push_back(without_place(*block));
    }
  }
  if (disjoint.empty()) return {ledger};
  Ledger shared;
  for (const PrivacyEvent& event : ledger.events()) {
    if (disjoint_block(event) == nullptr) shared.append(of_one_event(event));
  }
  std::vector<Ledger> result;
  for (const CorrelatedGaussian& block : disjoint) {
    result.push_back(shared);
    result.back().append(of_one_event(block));
  }
  return result;
}

}  // namespace lazydp
