#include "lazydp/apps/paper/findings.h"

#include <algorithm>
#include <array>
#include <utility>

#include "lazydp/base/error.h"

namespace lazydp::apps::paper {
namespace {

std::string quoted(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string text = "\"";
  for (const char c : cell) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

std::string line_of(const Cells& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i == 0 ? "" : ",") + quoted(cells[i]);
  return line + "\n";
}

}  // namespace

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
  std::string text = line_of(sheet.columns);
  for (const Cells& row : sheet.rows) text += line_of(row);
  return text;
}

}  // namespace lazydp::apps::paper
