#include "lazydp/privacy/accountant.h"

#include <algorithm>
#include <optional>

#include "lazydp/base/error.h"
#include "lazydp/privacy/binomial.h"
#include "lazydp/privacy/bins/balls_in_bins.h"
#include "lazydp/privacy/composition.h"
#include "lazydp/privacy/effort.h"
#include "lazydp/privacy/pld/pld.h"
#include "lazydp/privacy/rdp.h"

namespace lazydp {

Accountant accountant_from_name(std::string_view name) {
  if (name == "rdp") return Accountant::rdp;
  require(name == "pld", "accountant", name, "rdp or pld");
  return Accountant::pld;
}

std::string_view accountant_name(Accountant accountant) {
  return accountant == Accountant::rdp ? "rdp" : "pld";
}

namespace {

// Returns the ledger's only event, if that is a block with balls-in-bins sampling.
const CorrelatedGaussian* only_block_in_bins(const Ledger& ledger) {
  if (ledger.events().size() != 1) return nullptr;
  const auto* block = std::get_if<CorrelatedGaussian>(&ledger.events().front());
  return block != nullptr && block->sampling == BlockSampling::balls_in_bins ? block : nullptr;
}

// Returns the mu of the first steps of a block, if the attacker knows the bins.
double mu_of_known_bins(const CorrelatedGaussian& block) {
  return 1 / as_one_gaussian(block).noise_multiplier;
}

// The costs of what one example may have had part in. The first steps of a block cost no more than
// all that it may have, and no more than to an attacker who knows the bins.
double epsilon_of_one_example(const Ledger& ledger, double delta, Accountant accountant,
                              Effort effort) {
  if (accountant == Accountant::rdp) return rdp_epsilon(ledger, delta);
  if (const auto mu = exact_mu(ledger)) return gaussian_epsilon(*mu, delta);
  const CorrelatedGaussian* block = only_block_in_bins(ledger);
  if (block == nullptr) return pld_epsilon(ledger, delta);
  const double known_bins = gaussian_epsilon(mu_of_known_bins(*block), delta);
  if (block->noise_multiplier == 0) return known_bins;
  return std::min(known_bins, balls_in_bins_epsilon(*block, delta, effort));
}

double delta_of_one_example(const Ledger& ledger, double epsilon, Accountant accountant) {
  if (accountant == Accountant::rdp) return rdp_delta(ledger, epsilon);
  if (const auto mu = exact_mu(ledger)) return gaussian_delta(*mu, epsilon);
  const CorrelatedGaussian* block = only_block_in_bins(ledger);
  if (block == nullptr) return pld_delta(ledger, epsilon);
  const double known_bins = gaussian_delta(mu_of_known_bins(*block), epsilon);
  if (block->noise_multiplier == 0) return known_bins;
  return std::min(known_bins, balls_in_bins_delta(*block, epsilon));
}

}  // namespace

double epsilon(const Ledger& ledger, double delta, Accountant accountant) {
  return epsilon_by(ledger, delta, accountant, Effort::proof);
}

double epsilon_by(const Ledger& ledger, double delta, Accountant accountant, Effort effort) {
  require(delta > 0 && delta < 1, "delta", delta, "above 0 and below 1, for example 1e-6");
  double worst = 0.0;
  for (const Ledger& one : ledgers_of_one_example(ledger)) {
    worst = std::max(worst, epsilon_of_one_example(one, delta, accountant, effort));
  }
  return worst;
}

double delta(const Ledger& ledger, double epsilon, Accountant accountant) {
  require(epsilon >= 0, "epsilon", epsilon, "0 or more, for example 1.0");
  double worst = 0.0;
  for (const Ledger& one : ledgers_of_one_example(ledger)) {
    worst = std::max(worst, delta_of_one_example(one, epsilon, accountant));
  }
  return worst;
}

bool takes_sampling(const Ledger& ledger, Accountant accountant) {
  if (accountant == Accountant::rdp) return false;
  return std::ranges::any_of(ledgers_of_one_example(ledger), [](const Ledger& one) {
    const CorrelatedGaussian* block = only_block_in_bins(one);
    return block != nullptr && block->noise_multiplier > 0;
  });
}

}  // namespace lazydp
