// Compares SGD, LazyDP, LazyDP without ANS and DP-SGD(F) at three batch sizes.

#include <algorithm>
#include <array>

#include "lazydp/bench/paper/experiments.h"
#include "lazydp/bench/paper/findings.h"
#include "lazydp/bench/paper/measurer.h"
#include "lazydp/bench/paper/settings.h"
#include "lazydp/report/chart.h"

namespace lazydp::paper {
namespace {

constexpr std::array<std::string_view, 4> kShown = {"sgd", "lazydp", "lazydp-no-ans", "dpsgd-f"};

// The range over the three batches.
struct Span {
  double least = 1e300;
  double most = 0.0;

  void include(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  std::string text() const { return times_text(least) + " to " + times_text(most); }
};

}  // namespace

Findings end_to_end(Measurer& measurer) {
  Findings findings;
  findings.sheet.columns = {
      "table_bytes",          "batch",   "algorithm", "step_ms", "times_sgd_default",
      "times_sgd_same_batch", "standing"};
  const Measurement& normal = measurer.measure(contest(measurer, measurer.scale().batch()));
  const double unit = normal.ms("sgd");
  const std::vector<std::string> names(kShown.begin(), kShown.end());
  BarChart chart =
      empty_bars("Step time, normalised to SGD at the default batch",
                 how(normal) + ", " + size_text(normal.table_bytes()), "times SGD's step", names);
  BarChart far = empty_bars("Extrapolated to the paper's " + size_text(kPaperBytes),
                            "not measured: eager noise linear in bytes, all else as measured",
                            "times SGD's step", names, ChartAxis::Scale::logarithmic);
  Span eager, no_ans, lazy, gain, eager_far, gain_far;
  for (const std::uint64_t batch : measurer.scale().batches) {
    const Measurement& m = measurer.measure(contest(measurer, batch));
    chart.groups.push_back("batch " + with_commas(static_cast<double>(batch)));
    far.groups.push_back(chart.groups.back());
    for (std::size_t i = 0; i < kShown.size(); ++i) {
      const double ms = m.ms(kShown[i]);
      chart.series[i].bars.push_back({.value = ms / unit});
      findings.sheet.add({cell(m.table_bytes()), cell(static_cast<double>(batch)),
                          std::string(kShown[i]), cell(ms), cell(ms / unit),
                          cell(m.ratio(kShown[i], "sgd")),
                          std::string(name_of(Standing::measured))});
      // Without aggregation a step draws, on average, as many normals as an eager one.
      const bool draws_all = kShown[i] == "dpsgd-f" || kShown[i] == "lazydp-no-ans";
      const double there =
          draws_all ? eager_ms_at(m.of(kShown[i]), m.table_bytes(), kPaperBytes) : ms;
      far.series[i].bars.push_back({.value = there / unit, .extrapolated = true});
      findings.sheet.add({cell(kPaperBytes), cell(static_cast<double>(batch)),
                          std::string(kShown[i]), cell(there), cell(there / unit),
                          cell(there / m.ms("sgd")), std::string(name_of(Standing::extrapolated))});
    }
    eager.include(m.ratio("dpsgd-f", "sgd"));
    no_ans.include(m.ratio("lazydp-no-ans", "sgd"));
    lazy.include(m.ratio("lazydp", "sgd"));
    gain.include(m.ratio("dpsgd-f", "lazydp"));
    const double there = eager_ms_at(m.of("dpsgd-f"), m.table_bytes(), kPaperBytes);
    eager_far.include(there / m.ms("sgd"));
    gain_far.include(there / m.ms("lazydp"));
  }
  findings.pictures.push_back({"", svg_of(chart)});
  findings.pictures.push_back({"extrapolated", svg_of(far)});

  const std::string here = " " + gigabytes_text(normal);
  const std::string to = " extrapolated to " + size_text(kPaperBytes);
  findings.comparisons = {
      {"DP-SGD(F) slower than SGD", "166x to 375x at 96 GB",
       eager.text() + here + "; " + eager_far.text() + to,
       "our eager noise is fast, and SGD's step is slow on two cores: the paper has a GPU for it"},
      {"LazyDP without ANS slower than SGD", "97x to 218x at 96 GB", no_ans.text() + here,
       "as many normals as DP-SGD(F), whose sweep already hides memory behind the noise: nothing "
       "is "
       "left to save without aggregation"},
      {"LazyDP slower than SGD", "1.96x to 2.42x", lazy.text() + here,
       "the table part is a small share of a CPU's step, and noise is fused into one pass"},
      {"LazyDP faster than DP-SGD(F)", "85x to 155x, 119x on average, at 96 GB",
       gain.text() + here + "; " + gain_far.text() + to,
       "the gain grows with the tables; the baseline's noise runs at " +
           fixed(
               normal.table_bytes() / sizeof(float) / (normal.of("dpsgd-f").times.noise_ms() * 1e6),
               2) +
           " G normals a second"}};
  return findings;
}

}  // namespace lazydp::paper
