// Counts the rows of tables that one step reads and writes.

#include "lazydp/bench/paper/experiments.h"
#include "lazydp/bench/paper/findings.h"
#include "lazydp/bench/paper/settings.h"
#include "lazydp/report/chart.h"

namespace lazydp::paper {

Findings table_accesses(Measurer& measurer) {
  const Measurement& m = measurer.measure(contest(measurer, measurer.scale().batch()));
  Findings findings;
  findings.sheet.columns = {"table_bytes", "batch",        "algorithm",
                            "rows_read",   "rows_written", "standing"};
  BarChart chart =
      empty_bars("Rows that a step reads and writes", how(m) + ", " + size_text(m.table_bytes()),
                 "rows", {"read", "written"}, ChartAxis::Scale::logarithmic);
  for (const Measured& each : m.measured) {
    findings.sheet.add({cell(m.table_bytes()), cell(static_cast<double>(m.options.batch)),
                        std::string(each.recipe().name), cell(each.times.rows_read()),
                        cell(each.times.rows_written()), std::string(name_of(Standing::counted))});
    chart.groups.emplace_back(each.recipe().name);
    chart.series[0].bars.push_back({.value = each.times.rows_read()});
    chart.series[1].bars.push_back({.value = each.times.rows_written()});
  }
  findings.pictures.push_back({"", svg_of(chart)});
  const double sgd = m.of("sgd").times.rows_written();
  findings.comparisons.push_back(
      {"rows written a step, DP-SGD over SGD", "every row of the tables more",
       times_text(m.of("dpsgd-f").times.rows_written() / sgd) + " (" +
           with_commas(m.of("dpsgd-f").times.rows_written()) + " and " + with_commas(sgd) + ")",
       "counted; grows with the tables (187,767,399 rows at the paper's size)"});
  findings.comparisons.push_back(
      {"rows written a step, LazyDP over SGD", "those of this batch and of the next",
       times_text(m.of("lazydp").times.rows_written() / sgd) + " (" +
           with_commas(m.of("lazydp").times.rows_written()) + " and " + with_commas(sgd) + ")",
       "counted; a row is settled once however often a batch names it"});
  findings.notes.emplace_back(
      "Counted look-up by look-up: a row that a batch names twice gets two gradient updates and "
      "one settling.");
  return findings;
}

}  // namespace lazydp::paper
