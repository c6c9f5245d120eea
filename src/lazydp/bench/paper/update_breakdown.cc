// Breaks DP-SGD(F)'s model update down by part, over table sizes.

#include <array>

#include "lazydp/bench/paper/experiments.h"
#include "lazydp/bench/paper/findings.h"
#include "lazydp/bench/paper/measurer.h"
#include "lazydp/bench/paper/settings.h"
#include "lazydp/report/chart.h"

namespace lazydp::paper {
namespace {

struct Shares {
  double of_update;
  double of_step;
};

// Returns the share of noise sampling and noisy-gradient update together.
Shares noise_shares(const UpdateParts& parts, double step) {
  const double both = parts.sampling + parts.writing;
  return {both / parts.total(), both / step};
}

void add_bar(BarChart& chart, const std::string& group, const UpdateParts& parts) {
  chart.groups.push_back(group);
  const std::array values = {parts.sampling, parts.generation, parts.writing,
                             parts.other + parts.overhead};
  for (std::size_t i = 0; i < values.size(); ++i) {
    chart.series[i].bars.push_back({.value = 100.0 * values[i] / parts.total()});
  }
}

void add_row(Sheet& sheet, double bytes, const UpdateParts& parts, double step, double least,
             Standing standing) {
  const Shares shares = noise_shares(parts, step);
  sheet.add({cell(bytes), cell(parts.sampling), cell(parts.generation), cell(parts.writing),
             cell(parts.other + parts.overhead), cell(parts.total()), cell(parts.total() / least),
             cell(shares.of_update), cell(shares.of_step), std::string(name_of(standing))});
}

}  // namespace

Findings update_breakdown(Measurer& measurer) {
  Findings findings;
  findings.sheet.columns = {
      "table_bytes", "noise_sampling_ms", "noisy_gradient_ms", "noise_update_ms", "other_ms",
      "update_ms",   "times_smallest",    "share_of_update",   "share_of_step",   "standing"};
  BarChart chart = empty_bars("DP-SGD(F)'s model update", "", "% of the model update",
                              {"noise sampling", "noisy gradient", "noisy update", "other"},
                              ChartAxis::Scale::linear, BarChart::Kind::stacked);
  double least = 0.0;
  for (const double bytes : sizes_to_measure(measurer.scale())) {
    const Measurement& m = measurer.measure(staged(measurer, bytes));
    const UpdateParts parts = update_of(m.of("dpsgd-f"));
    if (least == 0.0) least = parts.total();
    add_bar(chart, size_text(m.table_bytes()), parts);
    add_row(findings.sheet, m.table_bytes(), parts, parts_of(m.of("dpsgd-f")).total(), least,
            Standing::measured);
  }
  const Measurement& largest = measurer.measure(staged(measurer, measurer.scale().table_bytes));
  const Measured& eager = largest.of("dpsgd-f");
  const UpdateParts here = update_of(eager);
  const double step = parts_of(eager).total();
  chart.head.note = how(largest);

  UpdateParts there = here;
  const double grow = kPaperBytes / largest.table_bytes();
  there.sampling *= grow;
  there.generation *= grow;
  there.writing += eager.times.stage_ms(Stage::noise_update) * (grow - 1.0);
  const double step_there = step + there.total() - here.total();
  if (grow > 1.1) {
    add_bar(chart, size_text(kPaperBytes) + "*", there);
    for (BarSeries& series : chart.series) series.bars.back().extrapolated = true;
    add_row(findings.sheet, kPaperBytes, there, step_there, least, Standing::extrapolated);
    chart.head.note += "; * extrapolated, noise linear in bytes";
  }
  findings.pictures.push_back({"", svg_of(chart)});

  const auto compare = [&](const char* what, const char* paper, double Shares::*share) {
    findings.comparisons.push_back(
        {what, paper,
         percent(noise_shares(here, step).*share) + " " + gigabytes_text(largest) + "; " +
             percent(noise_shares(there, step_there).*share) + " extrapolated to " +
             size_text(kPaperBytes),
         "our noisy gradient is a pass of its own over a buffer in cache only when stages are "
         "timed apart; normally the three are one pass"});
  };
  compare("noise sampling and noisy update, share of the model update", "83.1 % at 96 GB",
          &Shares::of_update);
  compare("the same, share of the step", "82.8 % at 96 GB", &Shares::of_step);
  return findings;
}

}  // namespace lazydp::paper
