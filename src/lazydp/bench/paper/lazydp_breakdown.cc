// LazyDP's step by stage, and its own overhead in the paper's three parts.

#include <array>

#include "lazydp/bench/paper/empty_chart.h"
#include "lazydp/bench/paper/experiments.h"
#include "lazydp/bench/paper/overhead_passes.h"
#include "lazydp/bench/paper/settings.h"
#include "lazydp/bench/paper/step_parts.h"
#include "lazydp/bench/paper/words.h"
#include "lazydp/report/chart.h"

namespace lazydp::paper {

Findings lazydp_breakdown(Lab& lab) {
  const Measurement& m = lab.measure(staged(lab, lab.effort().table_bytes));
  const StepParts parts = parts_of(m.of("lazydp"));
  const UpdateParts update = update_of(m.of("lazydp"));
  const double total = parts.total();

  Findings findings;
  findings.sheet.columns = {"part", "ms", "share_of_step", "standing"};
  BarChart chart = empty_bars("Where LazyDP's time goes",
                              how(m) + ", " + size_text(m.table_bytes()), "ms", {"a step"});
  const auto add = [&](const std::string& part, double ms) {
    findings.sheet.add(
        {part, cell(ms), cell(ms / total), std::string(name_of(Standing::measured))});
  };
  const std::array<std::pair<const char*, double>, 8> shown = {{{"forward", parts.forward},
                                                                {"per example", parts.per_example},
                                                                {"per batch", parts.per_batch},
                                                                {"sampling", update.sampling},
                                                                {"noisy grad.", update.generation},
                                                                {"update", update.writing},
                                                                {"dense", update.other},
                                                                {"overhead", update.overhead}}};
  for (const auto& [part, ms] : shown) {
    add(part, ms);
    chart.groups.emplace_back(part);
    chart.series[0].bars.push_back({.value = ms});
  }
  findings.pictures.push_back({"", svg_of(chart)});

  const OverheadPasses passes = time_overhead_passes(m.options, lab.effort().rounds);
  add("overhead in three passes: duplicates", passes.duplicates_ms);
  add("overhead in three passes: history read and std", passes.read_ms);
  add("overhead in three passes: history write", passes.write_ms);
  findings.comparisons = {
      {"LazyDP's own overhead, share of a step", "15 %", percent(update.overhead / total),
       "one pass finds late rows: the history that is read anyway tells an id that was seen from "
       "one that was not; and a step is longer without a GPU"},
      {"of it duplicates, history read with std, history write", "61 %, 22 %, 17 %",
       percent(passes.duplicates_ms / passes.total()) + ", " +
           percent(passes.read_ms / passes.total()) + ", " +
           percent(passes.write_ms / passes.total()),
       "the same batches in three passes, one after the other, timed apart: " +
           fixed(passes.total(), 2) + " ms, where our one pass with pricing takes " +
           fixed(update.overhead, 2) + " ms"}};
  return findings;
}

}  // namespace lazydp::paper
