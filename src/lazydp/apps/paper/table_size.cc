// Sensitivity to table size: what fits in memory, and the paper's 24, 48, 96 and 192 GB.

#include "lazydp/apps/paper/experiments.h"
#include "lazydp/apps/paper/sensitivity.h"
#include "lazydp/apps/paper/settings.h"
#include "lazydp/apps/paper/sizes.h"
#include "lazydp/apps/paper/words.h"
#include "lazydp/base/system_memory.h"

namespace lazydp::apps::paper {

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
  for (const double bytes : kSensitivity) {
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
  Setting whole = lab.standard({"dpsgd-f"});
  whole.table_bytes = kSensitivity.back();
  const std::optional<double> needs = lab.lacks(whole);
  findings.comparisons = {
      {"step time with four times the tables", "SGD and LazyDP stay, DP-SGD(F) grows in proportion",
       growth("sgd") + ", " + growth("lazydp") + ", " + growth("dpsgd-f"),
       "from " + size_text(least.table_bytes()) + " to " + size_text(most.table_bytes()) +
           "; the constant part of our step is larger, so DP-SGD(F) grows less at these sizes"},
      {"192 GB", "DP-SGD(F) runs out of memory, LazyDP trains",
       needs ? "out of memory for all whose tables are in memory: " + bytes_in_full(*needs) +
                   " needed, " + human_bytes(static_cast<double>(available_memory())) + " available"
             : std::string("fits, and was not asked for"),
       "our DP-SGD(F) adds its noise in place, so it runs out of memory no sooner than the others; "
       "LazyDP alone can keep its tables in files (--table-storage), which is not timed here"},
      {"LazyDP's overhead over sizes", "not stated", found.overheads(),
       "histories of larger tables miss the caches more often"}};
  return findings;
}

}  // namespace lazydp::apps::paper
