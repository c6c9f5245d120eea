#include "lazydp/bench/paper/sensitivity.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "lazydp/bench/paper/findings.h"
#include "lazydp/bench/paper/measurer.h"
#include "lazydp/bench/paper/settings.h"

namespace lazydp::paper {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::array<std::string_view, 3> kShown = {"sgd", "lazydp", "dpsgd-f"};

double mean_of(const std::vector<Outcome>& outcomes, double Outcome::*part) {
  return std::accumulate(outcomes.begin(), outcomes.end(), 0.0,
                         [&](double sum, const Outcome& o) { return sum + o.*part; }) /
         static_cast<double>(outcomes.size());
}

// Returns LazyDP's own overhead as a share of its step.
double overhead_share(Measurer& measurer, const Setting& setting) {
  const Measurement& lazy = measurer.measure(own_overhead(setting));
  return update_of(lazy.of("lazydp")).overhead / parts_of(lazy.of("lazydp")).total();
}

BarChart chart_of(const std::string& title, const std::string& note) {
  return empty_bars(title, note, "times the first SGD", {kShown.begin(), kShown.end()},
                    ChartAxis::Scale::logarithmic);
}

// One row of the sheet.
struct Told {
  const Variation& variation;
  std::string_view algorithm;
  double bytes = kNone;
  double ms = kNone;
  double gain = kNone;
  double overhead = kNone;
  Standing standing = Standing::measured;

  Cells cells() const {
    return {variation.label, variation.setting.tables_in_files ? "files" : "memory",
            cell(bytes),     std::string(algorithm),
            cell(ms),        cell(gain),
            cell(overhead),  std::string(name_of(standing))};
  }
};

// Measures tables larger than this run keeps in memory in files, for all algorithms but DP-SGD(F),
// which writes every row at every step. For DP-SGD(F), reports the memory that it would need.
void tell_from_files(Measurer& measurer, const Variation& variation, double unit, BarChart& chart,
                     Study& study) {
  Sheet& sheet = study.findings.sheet;
  const Variation there = {variation.label, in_files(variation.setting)};
  const Measurement& m = measurer.measure(there.setting);
  study.overhead_shares.push_back(overhead_share(measurer, there.setting));
  chart.groups.push_back(there.label + ", files");
  for (std::size_t i = 0; i < m.setting.algorithms.size(); ++i) {
    const std::string_view name = m.setting.algorithms[i];
    chart.series[i].bars.push_back({.value = m.ms(name) / unit});
    sheet.add(Told{.variation = there,
                   .algorithm = name,
                   .bytes = m.table_bytes(),
                   .ms = m.ms(name),
                   .gain = m.ratio(name, "lazydp"),
                   .overhead = name == "lazydp" ? study.overhead_shares.back() : kNone}
                  .cells());
  }
  Variation eager = variation;
  eager.setting.algorithms = {kShown.back()};
  const std::optional<double> needs = measurer.lacks(eager.setting);
  const Standing standing = needs ? Standing::out_of_memory : Standing::not_measured;
  chart.series.back().bars.push_back(
      {.note = std::string(name_of(standing)) + (needs ? ": " + human_bytes(*needs) : "")});
  sheet.add(Told{.variation = eager,
                 .algorithm = kShown.back(),
                 .bytes = needs.value_or(eager.setting.table_bytes),
                 .standing = standing}
                .cells());
}

std::string models_of(const std::vector<Variation>& variations) {
  const std::string first(variations.front().setting.model);
  const std::string last(variations.back().setting.model);
  return first == last ? first : first + " to " + last;
}

}  // namespace

Outcome Study::mean_outcome() const {
  return {.gain = mean_of(outcomes, &Outcome::gain),
          .far_gain = mean_of(outcomes, &Outcome::far_gain)};
}
std::string Study::overheads() const {
  const auto [least, most] = std::ranges::minmax(overhead_shares);
  return percent(least) + " to " + percent(most);
}

Study study(Measurer& measurer, const std::string& title,
            const std::vector<Variation>& variations) {
  Study result;
  Sheet& sheet = result.findings.sheet;
  sheet.columns = {"variation", "tables_in",    "table_bytes",           "algorithm",
                   "step_ms",   "times_lazydp", "lazydp_overhead_share", "standing"};
  BarChart near = chart_of(title, "");
  BarChart far = chart_of("The same with the paper's tables: extrapolated",
                          "not measured: eager noise linear in bytes, all else as measured");
  double unit = 0.0;
  for (const Variation& variation : variations) {
    if (variation.setting.table_bytes > measurer.scale().table_bytes) {
      tell_from_files(measurer, variation, unit, near, result);
      continue;
    }
    const Measurement& m = measurer.measure(variation.setting);
    const double overhead = overhead_share(measurer, variation.setting);
    const auto paper_bytes =
        static_cast<double>(named_shape(variation.setting.model).table_bytes());
    const double there = eager_ms_at(m.of("dpsgd-f"), m.table_bytes(), paper_bytes);
    if (unit == 0.0) {
      unit = m.ms("sgd");
      near.head.note = how(m, models_of(variations));
    }
    near.groups.push_back(variation.label);
    far.groups.push_back(variation.label);
    for (std::size_t i = 0; i < kShown.size(); ++i) {
      const bool lazy = kShown[i] == "lazydp";
      const bool eager = kShown[i] == "dpsgd-f";
      near.series[i].bars.push_back({.value = m.ms(kShown[i]) / unit});
      far.series[i].bars.push_back(
          {.value = (eager ? there : m.ms(kShown[i])) / unit, .extrapolated = true});
      sheet.add(Told{.variation = variation,
                     .algorithm = kShown[i],
                     .bytes = m.table_bytes(),
                     .ms = m.ms(kShown[i]),
                     .gain = m.ratio(kShown[i], "lazydp"),
                     .overhead = lazy ? overhead : kNone}
                    .cells());
    }
    sheet.add(Told{.variation = variation,
                   .algorithm = "dpsgd-f",
                   .bytes = paper_bytes,
                   .ms = there,
                   .gain = there / m.ms("lazydp"),
                   .standing = Standing::extrapolated}
                  .cells());
    result.outcomes.push_back({m.ratio("dpsgd-f", "lazydp"), there / m.ms("lazydp")});
    result.overhead_shares.push_back(overhead);
  }
  result.findings.pictures = {{"", svg_of(near)}, {"extrapolated", svg_of(far)}};
  return result;
}

}  // namespace lazydp::paper
