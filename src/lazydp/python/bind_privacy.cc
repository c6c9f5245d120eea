// Binds the accountants and the calibration.

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <vector>

#include "lazydp/privacy/accountant.h"
#include "lazydp/privacy/calibration.h"
#include "lazydp/python/bindings.h"

namespace lazydp {
namespace {

using Events = std::vector<std::tuple<double, double, std::uint64_t>>;  // rate, noise, steps

Ledger ledger_of(const Events& events) {
  Ledger ledger;
  for (const auto& [rate, noise, steps] : events) ledger.record({rate, noise, steps});
  return ledger;
}

}  // namespace

void bind_privacy(nb::module_& module) {
  using nb::literals::operator""_a;
  const nb::call_guard<nb::gil_scoped_release> unlocked;
  module.def(
      "epsilon",
      [](const Events& events, double at, const std::string& accountant) {
        return epsilon(ledger_of(events), at, accountant_from_name(accountant));
      },
      "events"_a, "delta"_a, "accountant"_a, unlocked);
  module.def(
      "delta",
      [](const Events& events, double at, const std::string& accountant) {
        return delta(ledger_of(events), at, accountant_from_name(accountant));
      },
      "events"_a, "epsilon"_a, "accountant"_a, unlocked);
  module.def(
      "noise_for_budget",
      [](double eps, double del, double rate, std::uint64_t steps, const std::string& accountant) {
        return noise_for_budget({eps, del}, rate, steps, accountant_from_name(accountant));
      },
      "epsilon"_a, "delta"_a, "sampling_rate"_a, "steps"_a, "accountant"_a, unlocked);
  module.def(
      "max_steps",
      [](double eps, double del, double rate, double noise, const std::string& accountant) {
        return max_steps({eps, del}, rate, noise, accountant_from_name(accountant));
      },
      "epsilon"_a, "delta"_a, "sampling_rate"_a, "noise_multiplier"_a, "accountant"_a, unlocked);
}

}  // namespace lazydp
