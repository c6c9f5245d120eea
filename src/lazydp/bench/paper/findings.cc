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

}  // namespace lazydp::paper
