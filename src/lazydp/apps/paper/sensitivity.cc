#include "lazydp/apps/paper/sensitivity.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "lazydp/apps/paper/empty_chart.h"
#include "lazydp/apps/paper/settings.h"
#include "lazydp/apps/paper/sizes.h"
#include "lazydp/apps/paper/step_parts.h"
#include "lazydp/apps/paper/words.h"

namespace lazydp::apps::paper {
namespace {

constexpr std::array<std::string_view, 3> kShown = {"sgd", "lazydp", "dpsgd-f"};

double mean_of(const std::vector<Outcome>& outcomes, double Outcome::*part) {
  return std::accumulate(outcomes.begin(), outcomes.end(), 0.0,
                         [&](double sum, const Outcome& o) { return sum + o.*part; }) /
         static_cast<double>(outcomes.size());
}

double overhead_share(const Measurement& lazy) {
  return update_of(lazy.of("lazydp")).overhead / parts_of(lazy.of("lazydp")).total();
}

BarChart chart_of(const std::string& title, const std::string& note) {
  return empty_bars(title, note, "times the first SGD", {kShown.begin(), kShown.end()},
                    ChartAxis::Scale::logarithmic);
}

void tell(Sheet& sheet, const std::string& label, double bytes, std::string_view algorithm,
          double ms, double gain, double overhead, Standing standing) {
  sheet.add({label, cell(bytes), std::string(algorithm), cell(ms), cell(gain), cell(overhead),
             std::string(name_of(standing))});
}

// What becomes of tables that are larger than this run takes on: too large for the machine's
// memory, or only for what the run was allowed. This is the one place where tables on a disk would
// be measured.
void tell_unmeasured(const Lab& lab, const Variation& variation, BarChart& chart, Sheet& sheet) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  chart.groups.push_back(variation.label);
  for (std::size_t i = 0; i < kShown.size(); ++i) {
    Setting alone = variation.setting;
    alone.algorithms = {kShown[i]};
    const std::optional<double> needs = lab.lacks(alone);
    const Standing standing = needs ? Standing::out_of_memory : Standing::not_measured;
    chart.series[i].bars.push_back(
        {.note = std::string(name_of(standing)) + (needs ? ": " + human_bytes(*needs) : "")});
    tell(sheet, variation.label, needs.value_or(alone.table_bytes), kShown[i], kNone, kNone, kNone,
         standing);
  }
}

}  // namespace

double Study::mean_gain() const {
  return mean_of(outcomes, &Outcome::gain);
}
double Study::mean_far_gain() const {
  return mean_of(outcomes, &Outcome::far_gain);
}
std::string Study::overheads() const {
  const auto [least, most] =
      std::ranges::minmax(outcomes, {}, [](const Outcome& o) { return o.overhead; });
  return percent(least.overhead) + " to " + percent(most.overhead);
}

Study study(Lab& lab, const std::string& title, const std::vector<Variation>& variations) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  Study result;
  Sheet& sheet = result.findings.sheet;
  sheet.columns = {"variation",    "table_bytes",           "algorithm", "step_ms",
                   "times_lazydp", "lazydp_overhead_share", "standing"};
  BarChart near = chart_of(title, "");
  BarChart far = chart_of("The same with the paper's tables: extrapolated",
                          "not measured: eager noise linear in bytes, all else as measured");
  double unit = 0.0;
  for (const Variation& variation : variations) {
    if (variation.setting.table_bytes > lab.effort().table_bytes) {
      tell_unmeasured(lab, variation, near, sheet);
      continue;
    }
    const Measurement& m = lab.measure(variation.setting);
    const double overhead = overhead_share(lab.measure(own_overhead(variation.setting)));
    const auto paper_bytes =
        static_cast<double>(named_shape(variation.setting.model).table_bytes());
    const double there = eager_ms_at(m.of("dpsgd-f"), m.table_bytes(), paper_bytes);
    if (unit == 0.0) {
      unit = m.ms("sgd");
      near.head.note = how(m);
    }
    near.groups.push_back(variation.label);
    far.groups.push_back(variation.label);
    for (std::size_t i = 0; i < kShown.size(); ++i) {
      const bool lazy = kShown[i] == "lazydp";
      const bool eager = kShown[i] == "dpsgd-f";
      near.series[i].bars.push_back({.value = m.ms(kShown[i]) / unit});
      far.series[i].bars.push_back(
          {.value = (eager ? there : m.ms(kShown[i])) / unit, .extrapolated = true});
      tell(sheet, variation.label, m.table_bytes(), kShown[i], m.ms(kShown[i]),
           m.ratio(kShown[i], "lazydp"), lazy ? overhead : kNone, Standing::measured);
    }
    tell(sheet, variation.label, paper_bytes, "dpsgd-f", there, there / m.ms("lazydp"), kNone,
         Standing::extrapolated);
    result.outcomes.push_back({m.ratio("dpsgd-f", "lazydp"), there / m.ms("lazydp"), overhead});
  }
  result.findings.pictures = {{"", svg_of(near)}, {"extrapolated", svg_of(far)}};
  return result;
}

}  // namespace lazydp::apps::paper
