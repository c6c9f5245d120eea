// Sensitivity to table size: what fits in memory, and the paper's 24, 48, 96 and 192 GB.

#include "lazydp/base/system_memory.h"
#include "lazydp/bench/paper/experiments.h"
#include "lazydp/bench/paper/sensitivity.h"
#include "lazydp/bench/paper/settings.h"
#include "lazydp/bench/paper/sizes.h"
#include "lazydp/bench/paper/words.h"

namespace lazydp::paper {

Findings table_size(Lab& lab) {
  std::vector<Variation> variations;
  const double largest = lab.effort().table_bytes;
  for (const double share : {0.25, 0.5, 1.0}) {
    Setting setting = variation(lab);
    setting.table_bytes = share * largest;
    variations.push_back({size_text(setting.table_bytes), setting});
  }
  const Measurement& least = lab.measure(variations.front().setting);
  const Measurement& most = lab.measure(variations.back().setting);
  for (const double bytes : lab.effort().far_bytes) {
    if (bytes <= largest) continue;
    Setting setting = variation(lab);
    setting.table_bytes = bytes;
    variations.push_back({size_text(bytes), setting});
  }
  Study found = study(lab, "Sensitivity to table size", variations);
  Findings& findings = found.findings;
  const auto growth = [&](const char* name) {
    return times_text(most.ms(name) / least.ms(name)) + " " + name;
  };
  const Variation& whole = variations.back();
  const Measurement& from_files = lab.measure(in_files(whole.setting));
  Setting eager = whole.setting;
  eager.algorithms = {"dpsgd-f"};
  const std::optional<double> needs = lab.lacks(eager);
  findings.comparisons = {
      {"step time with four times the tables", "SGD and LazyDP stay, DP-SGD(F) grows in proportion",
       growth("sgd") + ", " + growth("lazydp") + ", " + growth("dpsgd-f"),
       "from " + size_text(least.table_bytes()) + " to " + size_text(most.table_bytes()) +
           "; the constant part of our step is larger, so DP-SGD(F) grows less at these sizes"},
      {whole.label, "DP-SGD(F) runs out of memory, LazyDP trains",
       (needs ? "DP-SGD(F): out of memory, " + bytes_in_full(*needs) + " needed, " +
                    human_bytes(static_cast<double>(available_memory())) + " available; "
              : std::string()) +
           "LazyDP trains with its tables in files, a step " +
           times_text(from_files.ms("lazydp") / most.ms("lazydp")) + " one at " +
           size_text(most.table_bytes()) + " in memory and " +
           times_text(from_files.ratio("lazydp", "sgd")) + " SGD's from files",
       "every step reads rows for the first time, as at the start of training; what " +
           std::to_string(from_files.options.rounds) + " steps touch stays in the page cache"},
      {"LazyDP's overhead over sizes", "not stated", found.overheads(),
       "histories of larger tables miss the caches more often; from files it includes finding "
       "where each row lies"}};
  return findings;
}

}  // namespace lazydp::paper
