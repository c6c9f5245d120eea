#pragma once
// Parses a line of text into an example.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lazydp/data/column_encoder.h"
#include "lazydp/data/file/file_layout.h"
#include "lazydp/data/schema.h"
#include "lazydp/data/text/example_parser.h"
#include "lazydp/data/text/joined_table.h"
#include "lazydp/data/text/lines.h"

namespace lazydp {

class LineParser final : public ExampleParser {
 public:
  // `longest_record` is the longest that fits into a page of the data file. The values that tables
  // are asked for are added to `lookups`, if there is one.
  // If a table is joined, its columns are the schema's last, and lines have those before.
  LineParser(const Schema& schema, std::size_t longest_record,
             std::vector<Lookup>* lookups = nullptr,
             std::shared_ptr<const JoinedTable> joined = nullptr);
  LineParser(const LineParser&) = delete;  // its encoders point into its schema
  LineParser& operator=(const LineParser&) = delete;

  std::optional<Complaint> parse(std::string_view line, Records& out) override;

  // A first line that names the schema's columns is a header, and is passed over. If the schema has
  // a header and this is none, the line is an example only if it cannot be the header of another
  // log: it has no column's name, and its numbers or label are what the schema allows.
  std::optional<Complaint> parse_first(std::string_view line, Records& out) override;

  bool is_header(std::string_view line) override;

  std::uint64_t missing_keys() const override { return missing_keys_; }

  // Parses a line that names the columns: returns nothing if they are those of the schema.
  std::optional<Complaint> parse_header(std::string_view line);

 private:
  std::optional<Complaint> parse_fields(std::string_view line, Records& out);
  bool add_joined(Records& out);
  std::optional<Complaint> missing_separator(std::string_view line) const;
  bool names_a_column(std::string_view line);

  Schema schema_;
  std::vector<ColumnEncoder> encoders_;  // point into schema_
  std::shared_ptr<const JoinedTable> joined_;
  std::size_t own_;  // columns of a line: those before the joined ones
  std::size_t key_;  // index of the column that a table is joined by; own_ if none is
  std::string key_value_;
  std::uint64_t missing_keys_ = 0;
  std::size_t longest_record_;
  std::vector<Lookup>* lookups_;
  std::string scratch_;
  std::string why_;
};

}  // namespace lazydp
