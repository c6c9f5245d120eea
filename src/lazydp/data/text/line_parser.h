#pragma once
// Parses a line of text into an example.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lazydp/data/column_encoder.h"
#include "lazydp/data/file/file_layout.h"
#include "lazydp/data/schema.h"
#include "lazydp/data/text/lines.h"

namespace lazydp {

// The reason why a line is not an example.
struct Complaint {
  std::size_t column = 1;  // position of the offending character
  std::string reason = {};
};

class LineParser {
 public:
  // `longest_record` is the longest that fits into a page of the data file. The values that tables
  // are asked for are added to `lookups`, if there is one.
  LineParser(const Schema& schema, std::size_t longest_record,
             std::vector<Lookup>* lookups = nullptr);
  LineParser(const LineParser&) = delete;  // its encoders point into its schema
  LineParser& operator=(const LineParser&) = delete;

  // Adds the example in `line` (no newline) to `out`, or returns why there is none. Not
  // thread-safe.
  std::optional<Complaint> parse(std::string_view line, Records& out);

  // Parses a line that names the columns: returns nothing if they are those of the schema.
  std::optional<Complaint> parse_header(std::string_view line);

 private:
  Schema schema_;
  std::vector<ColumnEncoder> encoders_;  // point into schema_
  std::size_t longest_record_;
  std::vector<Lookup>* lookups_;
  std::string scratch_;
  std::string why_;
};

}  // namespace lazydp
