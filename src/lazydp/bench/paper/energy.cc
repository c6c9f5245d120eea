// Measures the energy of a step where the machine counts it, and CPU seconds everywhere.

#include "lazydp/bench/energy.h"

#include <algorithm>

#include "lazydp/bench/paper/experiments.h"
#include "lazydp/bench/paper/findings.h"
#include "lazydp/bench/paper/settings.h"
#include "lazydp/report/chart.h"

namespace lazydp::paper {

Findings energy(Measurer& measurer) {
  const Measurement& m = measurer.measure(contest(measurer, measurer.scale().batch()));
  const bool readable = std::ranges::all_of(
      m.measured, [](const Measured& each) { return each.spent.joules.has_value(); });
  const auto a_step = [&](const Measured& each) {
    return (readable ? *each.spent.joules : each.spent.cpu_seconds) / each.times.steps();
  };
  const std::string unit = readable ? "joules" : "CPU-seconds";

  Findings findings;
  findings.sheet.columns = {"table_bytes",        "algorithm", "joules_a_step",
                            "cpu_seconds_a_step", "times_sgd", "standing"};
  BarChart chart = empty_bars(
      readable ? "Energy of a step" : "CPU-seconds of a step (energy: not readable here)",
      how(m) + ", " + size_text(m.table_bytes()), unit + ", times SGD's", {unit});
  for (const Measured& each : m.measured) {
    const double ratio = a_step(each) / a_step(m.of("sgd"));
    findings.sheet.add(
        {cell(m.table_bytes()), std::string(each.recipe().name),
         readable ? cell(*each.spent.joules / each.times.steps()) : "not readable here",
         cell(each.spent.cpu_seconds / each.times.steps()), cell(ratio),
         std::string(name_of(Standing::measured))});
    chart.groups.emplace_back(each.recipe().name);
    chart.series[0].bars.push_back({.value = ratio});
  }
  findings.pictures.push_back({"", svg_of(chart)});
  findings.comparisons.push_back(
      {"energy, DP-SGD(F) over LazyDP", "155x at 96 GB",
       times_text(a_step(m.of("dpsgd-f")) / a_step(m.of("lazydp"))) + " in " + unit + " " +
           gigabytes_text(m),
       readable ? "processor and memory; the paper adds its GPU"
                : "energy is not readable here (no powercap counters); seconds of cores stand in "
                  "for it, and grow with the tables as step times do"});
  return findings;
}

}  // namespace lazydp::paper
