// Sensitivity to the model: RMC1, RMC2 and RMC3.

#include "lazydp/bench/paper/experiments.h"
#include "lazydp/bench/paper/sensitivity.h"
#include "lazydp/bench/paper/settings.h"
#include "lazydp/bench/paper/words.h"

namespace lazydp::paper {

Findings models(Lab& lab) {
  std::vector<Variation> variations;
  for (const std::string_view name : {"rmc1", "rmc2", "rmc3"}) {
    Setting setting = variation(lab);
    setting.model = name;
    variations.push_back({std::string(name), setting});
  }
  Study found = study(lab, "Sensitivity to the model", variations);
  found.findings.comparisons = {
      {"LazyDP faster than DP-SGD(F), mean of RMC1, 2, 3", "52.7x at 96 GB",
       times_text(found.mean_gain()) + " at " + human_bytes(lab.effort().table_bytes) + "; " +
           times_text(found.mean_far_gain()) + " extrapolated to 96 GB",
       "embedding-heavy: many look-ups a step, so that LazyDP has more to do"},
      {"LazyDP's overhead, share of its step", "8.9 % to 11.9 %", found.overheads(),
       "rows of 32 floats: finding who is late weighs more beside what they get"}};
  return found.findings;
}

}  // namespace lazydp::paper
