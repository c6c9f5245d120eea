// Shows what each step from DP-SGD(F) to LazyDP without ANS to LazyDP removes, by part of the
// update.

#include <array>
#include <cmath>

#include "lazydp/bench/paper/experiments.h"
#include "lazydp/bench/paper/findings.h"
#include "lazydp/bench/paper/measurer.h"
#include "lazydp/bench/paper/settings.h"
#include "lazydp/report/chart.h"

namespace lazydp::paper {
namespace {

constexpr std::array<std::string_view, 3> kStages = {"dpsgd-f", "lazydp-no-ans", "lazydp"};

struct NoiseCost {
  double sampling;
  double writing;  // noise alone: all three add gradients alike
};

NoiseCost cost_of(const Measured& m) {
  return {m.times.stage_ms(Stage::noise_sampling), m.times.stage_ms(Stage::noise_update)};
}

}  // namespace

Findings reductions(Measurer& measurer) {
  const Measurement& m = measurer.measure(staged(measurer, measurer.scale().table_bytes));
  Findings findings;
  findings.sheet.columns = {"table_bytes",     "algorithm",         "noise_sampling_ms",
                            "noise_update_ms", "noisy_gradient_ms", "step_ms",
                            "lateness",        "standing"};
  BarChart chart = empty_bars("What laziness and aggregation each remove",
                              how(m) + ", " + size_text(m.table_bytes()), "ms",
                              {"noise sampling", "noise update"}, ChartAxis::Scale::logarithmic);
  for (const std::string_view name : kStages) {
    const NoiseCost cost = cost_of(m.of(name));
    findings.sheet.add({cell(m.table_bytes()), std::string(name), cell(cost.sampling),
                        cell(cost.writing), cell(m.of(name).times.stage_ms(Stage::noisy_gradient)),
                        cell(m.ms(name)), cell(m.of(name).lateness),
                        std::string(name_of(Standing::measured))});
    chart.groups.emplace_back(name);
    chart.series[0].bars.push_back({.value = cost.sampling});
    chart.series[1].bars.push_back({.value = cost.writing});
  }
  findings.pictures.push_back({"", svg_of(chart)});

  const NoiseCost eager = cost_of(m.of("dpsgd-f"));
  const NoiseCost lazy = cost_of(m.of("lazydp"));
  const double grow = kPaperBytes / m.table_bytes();
  const auto compare = [&](const char* what, const char* paper, double ratio) {
    findings.comparisons.push_back({what, paper,
                                    times_text(ratio) + " " + gigabytes_text(m) + "; " +
                                        times_text(ratio * grow) + " extrapolated to " +
                                        size_text(kPaperBytes),
                                    "linear in table size: LazyDP's part stays, the eager one "
                                    "grows; our rows are read at random while they wait"});
  };
  compare("noise sampling cheaper, DP-SGD(F) over LazyDP", "1,081x at 96 GB",
          eager.sampling / lazy.sampling);
  compare("noise update cheaper", "418x at 96 GB", eager.writing / lazy.writing);
  findings.notes.push_back(
      "LazyDP without ANS is timed as in the middle of a long run: the rows of a batch have "
      "waited " +
      with_commas(std::round(m.lateness())) + " steps on average.");
  return findings;
}

}  // namespace lazydp::paper
