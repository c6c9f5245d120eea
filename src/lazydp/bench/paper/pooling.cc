// Sensitivity to pooling: 1, 10, 20 and 30 look-ups in a bag.

#include "lazydp/bench/paper/experiments.h"
#include "lazydp/bench/paper/sensitivity.h"
#include "lazydp/bench/paper/settings.h"
#include "lazydp/bench/paper/words.h"

namespace lazydp::paper {

Findings pooling(Lab& lab) {
  std::vector<Variation> variations;
  for (const std::size_t lookups : {1, 10, 20, 30}) {
    Setting setting = variation(lab);
    setting.pooling = lookups;
    variations.push_back({"pooling " + std::to_string(lookups), setting});
  }
  Study found = study(lab, "Sensitivity to pooling", variations);
  const Outcome& last = found.outcomes.back();
  found.findings.comparisons = {
      {"LazyDP faster than DP-SGD(F) at pooling 30", "16.7x at 96 GB",
       times_text(last.gain) + " at " + human_bytes(lab.effort().table_bytes) + "; " +
           times_text(last.far_gain) + " extrapolated to 96 GB",
       "the gain falls with pooling in both: look-ups grow and the eager noise does not"},
      {"LazyDP's overhead over pooling 1 to 30", "not stated", found.overheads(),
       "thirty times the ids to look at, in one pass"}};
  return found.findings;
}

}  // namespace lazydp::paper
