// Binds the accountants, the calibration, and what blocks of correlated noise cost.

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <vector>

#include "lazydp/privacy/accountant.h"
#include "lazydp/privacy/calibration.h"
#include "lazydp/privacy/correlated_noise.h"
#include "lazydp/python/bindings.h"
#include "lazydp/train/correlation_text.h"

namespace lazydp {
namespace {

using Events = std::vector<std::tuple<double, double, std::uint64_t>>;  // rate, noise, steps

Ledger ledger_of(const Events& events) {
  Ledger ledger;
  for (const auto& [rate, noise, steps] : events) ledger.record({rate, noise, steps});
  return ledger;
}

// Returns the bands that `text` names, for a block of these steps.
std::vector<double> bands_of(const std::string& text, std::uint64_t steps, std::uint64_t separation,
                             std::uint64_t participations) {
  const Correlation correlation = parse_correlation(text, {steps, separation, participations});
  return {correlation.bands().begin(), correlation.bands().end()};
}

double sensitivity_of(const std::vector<double>& bands, std::uint64_t steps,
                      std::uint64_t separation, std::uint64_t participations) {
  return sensitivity(bands, {steps, separation, participations});
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
  module.def("correlation_bands", &bands_of, "correlation"_a, "steps"_a, "separation"_a,
             "participations"_a, unlocked);
  module.def(
      "correlation_text",
      [](const std::vector<double>& bands) { return text_of(Correlation(bands)); }, "bands"_a);
  module.def("sensitivity", &sensitivity_of, "bands"_a, "steps"_a, "separation"_a,
             "participations"_a, unlocked);
}

}  // namespace lazydp
