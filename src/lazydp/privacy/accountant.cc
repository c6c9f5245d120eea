#include "lazydp/privacy/accountant.h"

#include <algorithm>
#include <optional>

#include "lazydp/base/error.h"
#include "lazydp/privacy/binomial.h"
#include "lazydp/privacy/composition.h"
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

// What one example may have had part in is measured by the closed form where there is one.
double epsilon_of_one_example(const Ledger& ledger, double delta, Accountant accountant) {
  if (accountant == Accountant::rdp) return rdp_epsilon(ledger, delta);
  const std::optional<double> mu = exact_mu(ledger);
  return mu ? gaussian_epsilon(*mu, delta) : pld_epsilon(ledger, delta);
}

double delta_of_one_example(const Ledger& ledger, double epsilon, Accountant accountant) {
  if (accountant == Accountant::rdp) return rdp_delta(ledger, epsilon);
  const std::optional<double> mu = exact_mu(ledger);
  return mu ? gaussian_delta(*mu, epsilon) : pld_delta(ledger, epsilon);
}

}  // namespace

double epsilon(const Ledger& ledger, double delta, Accountant accountant) {
  require(delta > 0 && delta < 1, "delta", delta, "above 0 and below 1, for example 1e-6");
  double worst = 0.0;
  for (const Ledger& one : ledgers_of_one_example(ledger)) {
    worst = std::max(worst, epsilon_of_one_example(one, delta, accountant));
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

}  // namespace lazydp
