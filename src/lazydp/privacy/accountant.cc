#include "lazydp/privacy/accountant.h"

#include "lazydp/base/error.h"
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

double epsilon(const Ledger& ledger, double delta, Accountant accountant) {
  require(delta > 0 && delta < 1, "delta", delta, "above 0 and below 1, for example 1e-6");
  return accountant == Accountant::rdp ? rdp_epsilon(ledger, delta) : pld_epsilon(ledger, delta);
}

double delta(const Ledger& ledger, double epsilon, Accountant accountant) {
  require(epsilon >= 0, "epsilon", epsilon, "0 or more, for example 1.0");
  return accountant == Accountant::rdp ? rdp_delta(ledger, epsilon) : pld_delta(ledger, epsilon);
}

}  // namespace lazydp
