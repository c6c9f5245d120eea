#pragma once
// A small table of text as CSV (RFC 4180), which spreadsheets and pandas read.

#include <string>
#include <string_view>
#include <vector>

namespace lazydp {

struct CsvTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  // each as long as the header

  std::string text() const;

  // Throws UserError, with `name` and the line, for text that is not such a table.
  static CsvTable parse(std::string_view text, const std::string& name);
};

}  // namespace lazydp
