#include "lazydp/bench/paper/findings.h"

#include <array>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/report/csv.h"

namespace lazydp::paper {

std::string_view name_of(Standing standing) {
  constexpr std::array<std::string_view, 5> kNames = {"measured", "counted", "extrapolated",
                                                      "out of memory", "not measured"};
  return kNames.at(static_cast<std::size_t>(standing));
}

void Sheet::add(Cells row) {
  check(row.size() == columns.size(), "a row has a cell for every column");
  rows.push_back(std::move(row));
}

std::string csv_of(const Sheet& sheet) {
  return CsvTable{sheet.columns, sheet.rows}.text();
}

BarChart empty_bars(const std::string& title, const std::string& note, const std::string& unit,
                    const std::vector<std::string>& series, ChartAxis::Scale scale,
                    BarChart::Kind kind) {
  BarChart chart;
  chart.head.title = title;
  chart.head.note = note;
  chart.y.name = unit;
  chart.y.scale = scale;
  chart.kind = kind;
  chart.series.resize(series.size());
  for (std::size_t i = 0; i < series.size(); ++i) chart.series[i].name = series[i];
  return chart;
}

LineChart empty_lines(const std::string& title, const std::string& note, const std::string& x,
                      const std::string& y) {
  LineChart chart;
  chart.head.title = title;
  chart.head.note = note;
  chart.x.name = x;
  chart.y.name = y;
  return chart;
}

}  // namespace lazydp::paper
