#include "lazydp/report/csv.h"

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

void append_line(std::string& out, const std::vector<std::string>& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) out += ',';
    if (fields[i].find_first_of(",\"\r\n") == std::string::npos) {
      out += fields[i];
      continue;
    }
    out += '"';
    for (const char letter : fields[i]) out += letter == '"' ? "\"\"" : std::string(1, letter);
    out += '"';
  }
  out += '\n';
}

// Removes the first line from `text` and returns its fields; quoted fields may hold any character.
std::vector<std::string> take_line(std::string_view& text) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const char letter = text[at];
    const bool doubled = quoted && letter == '"' && at + 1 < text.size() && text[at + 1] == '"';
    if (doubled) {
      fields.back() += text[at++];
    } else if (letter == '"') {
      quoted = !quoted;
    } else if (!quoted && letter == ',') {
      fields.emplace_back();
    } else if (!quoted && letter == '\n') {
      break;
    } else if (quoted || letter != '\r') {
      fields.back() += letter;
    }
  }
  text.remove_prefix(std::min(text.size(), at + 1));
  return fields;
}

}  // namespace

std::string CsvTable::text() const {
  std::string out;
  append_line(out, header);
  for (const std::vector<std::string>& row : rows) append_line(out, row);
  return out;
}

CsvTable CsvTable::parse(std::string_view text, const std::string& name) {
  CsvTable table{.header = take_line(text), .rows = {}};
  while (!text.empty()) {
    table.rows.push_back(take_line(text));
    if (table.rows.back().size() == table.header.size()) continue;
    throw UserError(name + ", row " + std::to_string(table.rows.size()) + ": " +
                    std::to_string(table.rows.back().size()) + " fields, and the first line has " +
                    std::to_string(table.header.size()));
  }
  return table;
}

}  // namespace lazydp
