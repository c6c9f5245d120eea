// Binds the proofs of attacks: trade-off curves, canaries of many runs, canaries of one.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "lazydp/privacy/attack_evidence.h"
#include "lazydp/privacy/one_run.h"
#include "lazydp/python/bindings.h"

namespace lazydp {
namespace {

using Points = std::vector<std::tuple<double, double>>;                // epsilon, delta
using Steps = std::vector<std::tuple<double, double, std::uint64_t>>;  // rate, noise, steps

TradeOff of_points(const Points& points) {
  std::vector<TradeOff::Point> all;
  for (const auto& [epsilon, delta] : points) all.push_back({epsilon, delta});
  return TradeOff(all);
}

Ledger ledger_of(const Steps& events, double noise_factor) {
  Ledger ledger;
  for (const auto& [rate, noise, steps] : events) {
    ledger.record({rate, noise * noise_factor, steps});
  }
  return ledger;
}

AttackScores scores_of(const std::vector<double>& without, const std::vector<double>& with) {
  return {without, with};
}

}  // namespace

void bind_audit(nb::module_& module) {
  using nb::literals::operator""_a;
  const nb::call_guard<nb::gil_scoped_release> unlocked;
  nb::class_<TradeOff>(module, "TradeOff")
      .def_static("of_points", of_points, "points"_a, unlocked)
      .def_static(
          "of_events", [](const Steps& events) { return TradeOff::of(ledger_of(events, 1.0)); },
          "events"_a, unlocked)
      .def_static(
          "of_sum",
          [](const Steps& events, double noise_factor) {
            return TradeOff::of_sum(ledger_of(events, noise_factor));
          },
          "events"_a, "noise_factor"_a, unlocked)
      .def_static("gaussian", &TradeOff::gaussian, "mu"_a, unlocked)
      .def("least_miss", &TradeOff::least_miss, "false_alarm"_a);
  nb::class_<AttackEvidence>(module, "AttackEvidence")
      .def_ro("threshold", &AttackEvidence::threshold)
      .def_ro("false_alarms", &AttackEvidence::false_alarms)
      .def_ro("misses", &AttackEvidence::misses)
      .def_ro("runs_without", &AttackEvidence::runs_without)
      .def_ro("runs_with", &AttackEvidence::runs_with);
  module.def(
      "best_threshold",
      [](const std::vector<double>& without, const std::vector<double>& with, double alpha) {
        return best_threshold(scores_of(without, with), alpha).threshold;
      },
      "without"_a, "with_"_a, "alpha"_a, unlocked);
  module.def(
      "attack_evidence",
      [](const std::vector<double>& without, const std::vector<double>& with, double threshold,
         double alpha) { return evidence(scores_of(without, with), threshold, alpha); },
      "without"_a, "with_"_a, "threshold"_a, "alpha"_a, unlocked);
  module.def("attack_p_value", &p_value, "evidence"_a, "claim"_a, unlocked);
  module.def("runs_needed", &runs_needed, "claim"_a, "truth"_a, "alpha"_a, "power"_a, unlocked);

  nb::class_<OneRunGuesses>(module, "OneRunGuesses")
      .def_ro("canaries", &OneRunGuesses::canaries)
      .def_ro("guesses", &OneRunGuesses::guesses)
      .def_ro("correct", &OneRunGuesses::correct);
  nb::class_<OneRunPlan>(module, "OneRunPlan")
      .def_ro("guesses", &OneRunPlan::guesses)
      .def_ro("needed", &OneRunPlan::needed)
      .def_ro("power", &OneRunPlan::power);
  module.def(
      "guess",
      [](const std::vector<double>& scores, const std::vector<bool>& in, std::uint64_t guesses) {
        return guess(scores, in, guesses);
      },
      "scores"_a, "included"_a, "guesses"_a, unlocked);
  module.def("one_run_p_value", &one_run_p_value, "made"_a, "claim"_a, unlocked);
  module.def("one_run_epsilon", &one_run_epsilon, "made"_a, "delta"_a, "alpha"_a, unlocked);
  module.def("plan_one_run", &plan_one_run, "canaries"_a, "claim"_a, "truth"_a, "alpha"_a,
             unlocked);
  module.def("canaries_needed", &canaries_needed, "claim"_a, "truth"_a, "alpha"_a, "power"_a,
             unlocked);
}

}  // namespace lazydp
