#pragma once
// A small table of text in a file that spreadsheets and pandas read (RFC 4180).

#include <string>
#include <string_view>
#include <vector>

namespace lazydp {

struct CsvTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  // each as long as the header

  std::string text() const;

  // Throws UserError, naming `name` and the line, for text that is no such table.
  static CsvTable parse(std::string_view text, const std::string& name);
};

}  // namespace lazydp
