// Sensitivity to skew: 90 % of the look-ups on 36 %, 10 % and 0.6 % of the rows.

#include "lazydp/bench/paper/experiments.h"
#include "lazydp/bench/paper/sensitivity.h"
#include "lazydp/bench/paper/settings.h"
#include "lazydp/bench/paper/words.h"

namespace lazydp::paper {

Findings skew(Lab& lab) {
  std::vector<Variation> variations;
  for (const auto& [label, synthetic] : std::initializer_list<std::pair<const char*, const char*>>{
           {"low (36 %)", "skew:36"}, {"medium (10 %)", "skew:10"}, {"high (0.6 %)", "skew:0.6"}}) {
    Setting setting = variation(lab);
    setting.synthetic = synthetic;
    variations.push_back({label, setting});
  }
  Study found = study(lab, "Sensitivity to skew", variations);
  found.findings.comparisons = {
      {"LazyDP faster than DP-SGD(F), mean over skews", "129x at 96 GB",
       times_text(found.mean_gain()) + " at " + human_bytes(lab.effort().table_bytes) + "; " +
           times_text(found.mean_far_gain()) + " extrapolated to 96 GB",
       "skew leaves fewer distinct rows to settle; look-ups follow Zipf's law, the paper's come "
       "from a data set"},
      {"LazyDP's overhead, share of its step", "under 14 %", found.overheads(),
       "popular rows and their histories stay in cache"}};
  return found.findings;
}

}  // namespace lazydp::paper
