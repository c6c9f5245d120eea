// Sensitivity to the model, the pooling, the skew of accesses, and the table size: what fits in
// memory, and the paper's 24, 48, 96 and 192 GB.

#include "lazydp/base/memory.h"
#include "lazydp/bench/paper/experiments.h"
#include "lazydp/bench/paper/findings.h"
#include "lazydp/bench/paper/sensitivity.h"
#include "lazydp/bench/paper/settings.h"

namespace lazydp::paper {
namespace {

std::string gains_text(const Measurer& measurer, const Outcome& outcome) {
  return times_text(outcome.gain) + " at " + human_bytes(measurer.scale().table_bytes) + "; " +
         times_text(outcome.far_gain) + " extrapolated to 96 GB";
}

}  // namespace

Findings models(Measurer& measurer) {
  std::vector<Variation> variations;
  for (const std::string_view name : {"rmc1", "rmc2", "rmc3"}) {
    Setting setting = variation(measurer);
    setting.model = name;
    variations.push_back({std::string(name), setting});
  }
  Study found = study(measurer, "Sensitivity to the model", variations);
  found.findings.comparisons = {
      {"LazyDP faster than DP-SGD(F), mean of RMC1, 2, 3", "52.7x at 96 GB",
       gains_text(measurer, found.mean_outcome()),
       "embedding-heavy: many look-ups a step, so that LazyDP has more to do"},
      {"LazyDP's overhead, share of its step", "8.9 % to 11.9 %", found.overheads(),
       "rows of 32 floats: finding the late rows weighs more beside what they get"}};
  return found.findings;
}

Findings pooling(Measurer& measurer) {
  std::vector<Variation> variations;
  for (const std::size_t lookups : {1, 10, 20, 30}) {
    Setting setting = variation(measurer);
    setting.pooling = lookups;
    variations.push_back({"pooling " + std::to_string(lookups), setting});
  }
  Study found = study(measurer, "Sensitivity to pooling", variations);
  found.findings.comparisons = {
      {"LazyDP faster than DP-SGD(F) at pooling 30", "16.7x at 96 GB",
       gains_text(measurer, found.outcomes.back()),
       "the gain falls with pooling in both: look-ups grow and the eager noise does not"},
      {"LazyDP's overhead over pooling 1 to 30", "not stated", found.overheads(),
       "thirty times the ids to look at, in one pass"}};
  return found.findings;
}

Findings skew(Measurer& measurer) {
  std::vector<Variation> variations;
  for (const auto& [label, synthetic] : std::initializer_list<std::pair<const char*, const char*>>{
           {"low (36 %)", "skew:36"}, {"medium (10 %)", "skew:10"}, {"high (0.6 %)", "skew:0.6"}}) {
    Setting setting = variation(measurer);
    setting.synthetic = synthetic;
    variations.push_back({label, setting});
  }
  Study found = study(measurer, "Sensitivity to skew", variations);
  found.findings.comparisons = {
      {"LazyDP faster than DP-SGD(F), mean over skews", "129x at 96 GB",
       gains_text(measurer, found.mean_outcome()),
       "skew leaves fewer distinct rows to settle; look-ups follow Zipf's law, the paper's come "
       "from a data set"},
      {"LazyDP's overhead, share of its step", "under 14 %", found.overheads(),
       "popular rows and their histories stay in cache"}};
  return found.findings;
}

Findings table_size(Measurer& measurer) {
  std::vector<Variation> variations;
  const double largest = measurer.scale().table_bytes;
  for (const double share : {0.25, 0.5, 1.0}) {
    Setting setting = variation(measurer);
    setting.table_bytes = share * largest;
    variations.push_back({size_text(setting.table_bytes), setting});
  }
  const Measurement& least = measurer.measure(variations.front().setting);
  const Measurement& most = measurer.measure(variations.back().setting);
  for (const double bytes : measurer.scale().far_bytes) {
    if (bytes <= largest) continue;
    Setting setting = variation(measurer);
    setting.table_bytes = bytes;
    variations.push_back({size_text(bytes), setting});
  }
  Study found = study(measurer, "Sensitivity to table size", variations);
  Findings& findings = found.findings;
  const auto growth = [&](const char* name) {
    return times_text(most.ms(name) / least.ms(name)) + " " + name;
  };
  const Variation& whole = variations.back();
  const Measurement& from_files = measurer.measure(in_files(whole.setting));
  Setting eager = whole.setting;
  eager.algorithms = {"dpsgd-f"};
  const std::optional<double> needs = measurer.lacks(eager);
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
