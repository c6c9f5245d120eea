// Compares LazyDP and EANA: their speed, and what EANA's model reveals that LazyDP's does not.

#include <algorithm>
#include <limits>

#include "lazydp/audit/audit.h"
#include "lazydp/bench/paper/experiments.h"
#include "lazydp/bench/paper/findings.h"
#include "lazydp/bench/paper/settings.h"
#include "lazydp/bench/paper/tiny_run.h"
#include "lazydp/report/chart.h"

namespace lazydp::paper {
namespace {

constexpr double kLeakBytes = 20e6;  // bytes of tables, so that most rows are never read

// Counts rows that training left bit for bit as they were.
struct Untouched {
  std::uint64_t rows = 0;
  std::uint64_t of = 0;
};

Untouched untouched_rows(const TinyRun& run) {
  Untouched count;
  for (std::size_t k = 0; k < run.model_and_tables.tables.size(); ++k) {
    const Table before = run.initial_table(k);
    const Table& after = run.model_and_tables.tables[k];
    for (RowId row = 0; row < after.rows(); ++row) {
      if (std::ranges::equal(before.row(row), after.row(row))) ++count.rows;
    }
    count.of += static_cast<std::uint64_t>(after.rows());
  }
  return count;
}

AuditFinding verdict_on(const Measurer& measurer, std::string_view algorithm) {
  AuditPlan plan;
  plan.run.recipe = recipe(algorithm);
  plan.runs = measurer.scale().audit_runs;
  plan.seed = measurer.seed();
  return audit(plan);
}

std::string outcome(Verdict verdict) {
  switch (verdict) {
    case Verdict::broken: return ": broken";
    case Verdict::stands: return ": stands";
    case Verdict::nothing: break;
  }
  return ": too few runs to tell";
}

void count_leaks(Measurer& measurer, Findings& findings) {
  const TinySetting setting{
      .shape = shape_of("mlperf", std::min(kLeakBytes, measurer.scale().table_bytes)),
      .synthetic = "skew:10",
      .batch = measurer.scale().batch(),
      .steps = measurer.scale().leak_steps,
      .seed = measurer.seed() + 1};
  std::vector<std::string> told;
  for (const std::string_view name : {"eana", "lazydp"}) {
    measurer.progress().say("  counting rows that " + std::string(name) + " leaves without noise");
    const Untouched count = untouched_rows(TinyRun(setting, name));
    const AuditFinding finding = verdict_on(measurer, name);
    findings.sheet.add({"rows never noised", "", std::string(name),
                        cell(static_cast<double>(count.rows)), "",
                        std::string(name_of(Standing::counted))});
    findings.sheet.add({"epsilon proven by attack", "", std::string(name),
                        cell(finding.proven_epsilon), cell(finding.stated_epsilon),
                        std::string(name_of(Standing::measured))});
    told.push_back(with_commas(static_cast<double>(count.rows)) + " of " +
                   with_commas(static_cast<double>(count.of)));
    told.push_back(fixed(finding.proven_epsilon, 2) + outcome(finding.verdict));
  }
  findings.comparisons.push_back(
      {"rows never noised, EANA and LazyDP", "EANA: those that no example accessed",
       told[0] + " and " + told[2],
       "after " + std::to_string(setting.steps) + " steps on " +
           size_text(static_cast<double>(setting.shape.table_bytes())) +
           " of skewed tables; such a row shows that no example has its feature"});
  findings.comparisons.push_back(
      {"epsilon proven by an attack where the noise suggests 1, EANA and LazyDP",
       "EANA's guarantee is weaker", told[1] + " and " + told[3],
       "lower bounds, by `lazydp audit`: thousands of tiny models with and without one example"});
}

}  // namespace

Findings eana(Measurer& measurer) {
  Findings findings;
  findings.sheet.columns = {"what", "batch", "algorithm", "value", "beside", "standing"};
  const Measurement& normal = measurer.measure(contest(measurer, measurer.scale().batch()));
  BarChart chart = empty_bars("LazyDP and EANA, normalised to SGD at the default batch",
                              how(normal) + ", " + size_text(normal.table_bytes()),
                              "times SGD's step", {"sgd", "eana", "lazydp"});
  double least = std::numeric_limits<double>::max();
  double most = std::numeric_limits<double>::lowest();
  for (const std::uint64_t batch : measurer.scale().batches) {
    const Measurement& m = measurer.measure(contest(measurer, batch));
    chart.groups.push_back("batch " + with_commas(static_cast<double>(batch)));
    for (BarSeries& series : chart.series) {
      series.bars.push_back({.value = m.ms(series.name) / normal.ms("sgd")});
      findings.sheet.add({"step_ms", cell(static_cast<double>(batch)), series.name,
                          cell(m.ms(series.name)), cell(m.ratio(series.name, "eana")),
                          std::string(name_of(Standing::measured))});
    }
    least = std::min(least, m.ratio("lazydp", "eana") - 1.0);
    most = std::max(most, m.ratio("lazydp", "eana") - 1.0);
  }
  findings.pictures.push_back({"", svg_of(chart)});
  findings.comparisons.push_back(
      {"LazyDP slower than EANA", "27 % to 37 %", percent(least) + " to " + percent(most),
       "both draw a normal for each float of the rows they touch; LazyDP also prices what a row "
       "has missed, and settles when rows are read"});
  count_leaks(measurer, findings);
  return findings;
}

}  // namespace lazydp::paper
