// Breaks SGD and DP-SGD(B), (R), (F) down by stage over table sizes, and shows how F's lead over R
// fades.

#include <array>

#include "lazydp/bench/paper/experiments.h"
#include "lazydp/bench/paper/findings.h"
#include "lazydp/bench/paper/measurer.h"
#include "lazydp/bench/paper/settings.h"
#include "lazydp/report/chart.h"

namespace lazydp::paper {
namespace {

constexpr std::array<std::string_view, 4> kShown = {"sgd", "dpsgd-b", "dpsgd-r", "dpsgd-f"};
constexpr std::array<std::string_view, 3> kEager = {"dpsgd-b", "dpsgd-r", "dpsgd-f"};

std::string short_name(std::string_view algorithm) {  // the letter of DP-SGD
  return algorithm == "sgd" ? "SGD" : std::string(1, static_cast<char>(algorithm.back() - 32));
}

// Returns a text that is short enough to stand below one of a dozen bars.
std::string short_size(double bytes) {
  const bool giga = bytes >= 1e9;
  const double value = bytes / (giga ? 1e9 : 1e6);
  return fixed(value, giga && value < 10.0 ? 1 : 0) + (giga ? "G" : "M");
}

void add_bar(BarChart& chart, const std::string& group, const StepParts& parts, double unit) {
  chart.groups.push_back(group);
  const std::array values = {parts.forward, parts.per_example, parts.per_batch, parts.update};
  for (std::size_t i = 0; i < values.size(); ++i) {
    chart.series[i].bars.push_back({.value = values[i] / unit});
  }
}

BarChart stages_chart(const std::string& title, const std::string& note) {
  return empty_bars(title, note, "times SGD's step",
                    {"forward", "per example", "per batch", "update"}, ChartAxis::Scale::linear,
                    BarChart::Kind::stacked);
}

// Adds the largest measurement, with its noise scaled to the paper's tables.
void extrapolate(const Measurement& largest, double sgd, Findings& findings) {
  BarChart chart = stages_chart("Extrapolated to the paper's " + size_text(kPaperBytes),
                                "not measured: noise of " + size_text(largest.table_bytes()) +
                                    " x " + times_text(kPaperBytes / largest.table_bytes()));
  for (const std::string_view name : kEager) {
    StepParts parts = parts_of(largest.of(name));
    const double noise = largest.of(name).times.noise_ms();
    parts.update += noise * (kPaperBytes / largest.table_bytes() - 1.0);
    add_bar(chart, "DP-SGD(" + short_name(name) + ")", parts, sgd);
    chart.series.back().bars.back().extrapolated = true;
    findings.sheet.add({cell(kPaperBytes), std::string(name), cell(parts.forward),
                        cell(parts.per_example), cell(parts.per_batch), cell(parts.update),
                        cell(parts.total()), cell(parts.total() / sgd),
                        std::string(name_of(Standing::extrapolated))});
  }
  findings.pictures.push_back({"extrapolated", svg_of(chart)});
}

}  // namespace

Findings time_breakdown(Measurer& measurer) {
  Findings findings;
  findings.sheet.columns = {"table_bytes",    "algorithm",    "forward_ms",
                            "per_example_ms", "per_batch_ms", "update_ms",
                            "step_ms",        "times_sgd",    "standing"};
  const std::vector<double> sizes = sizes_to_measure(measurer.scale());
  const Measurement& largest = measurer.measure(staged(measurer, sizes.back()));
  const double sgd = parts_of(largest.of("sgd")).total();
  BarChart chart = stages_chart("Where a step's time goes",
                                how(largest) + "; SGD at " + size_text(largest.table_bytes()));
  for (const double bytes : sizes) {
    const Measurement& m = measurer.measure(staged(measurer, bytes));
    for (const std::string_view name : kShown) {
      const StepParts parts = parts_of(m.of(name));
      findings.sheet.add({cell(m.table_bytes()), std::string(name), cell(parts.forward),
                          cell(parts.per_example), cell(parts.per_batch), cell(parts.update),
                          cell(parts.total()), cell(parts.total() / sgd),
                          std::string(name_of(Standing::measured))});
      const bool shown = name != "sgd" || bytes == sizes.back();
      if (shown) add_bar(chart, short_name(name) + " " + short_size(m.table_bytes()), parts, sgd);
    }
  }
  findings.pictures.push_back({"", svg_of(chart)});
  if (largest.table_bytes() < 0.9 * kPaperBytes) extrapolate(largest, sgd, findings);

  const Measurement& least = measurer.measure(staged(measurer, sizes.front()));
  findings.comparisons.push_back(
      {"DP-SGD(F) faster than (R), smallest tables", "1.5x at 96 MB",
       times_text(least.ratio("dpsgd-r", "dpsgd-f")) + " " + gigabytes_text(least),
       "(R) forms every example's gradient of every layer: more work for two cores than for a "
       "GPU"});
  const double apart = (eager_ms_at(largest.of("dpsgd-r"), largest.table_bytes(), kPaperBytes) -
                        eager_ms_at(largest.of("dpsgd-f"), largest.table_bytes(), kPaperBytes)) /
                       eager_ms_at(largest.of("dpsgd-f"), largest.table_bytes(), kPaperBytes);
  findings.comparisons.push_back(
      {"the same, largest tables", "under 0.3 % at 96 GB",
       times_text(largest.ratio("dpsgd-r", "dpsgd-f")) + " " + gigabytes_text(largest) + "; " +
           percent(apart) + " extrapolated to " + size_text(kPaperBytes),
       "the lead fades as noise grows; our noise is faster and our backward pass slower, so it "
       "fades later"});
  return findings;
}

}  // namespace lazydp::paper
