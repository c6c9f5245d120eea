#pragma once
// Makes an example of a record of text: the interface that formats of text implement.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lazydp/data/column_encoder.h"
#include "lazydp/data/file/file_layout.h"
#include "lazydp/data/schema.h"
#include "lazydp/data/text/joined_table.h"
#include "lazydp/data/text/lines.h"

namespace lazydp {

// The reason why a record is not an example.
struct Complaint {
  std::size_t column = 1;  // position of the offending character
  std::string reason = {};
  bool of_input = false;  // all of the input would be misread, not this record only
};

// Not thread-safe.
class ExampleParser {
 public:
  virtual ~ExampleParser() = default;

  // Adds the example in `record` (no newline) to `out`, or returns why there is none.
  virtual std::optional<Complaint> parse(std::string_view record, Records& out) = 0;

  // The same for the first record of an input; adds nothing if it names the columns.
  virtual std::optional<Complaint> parse_first(std::string_view record, Records& out) {
    return parse(record, out);
  }

  // Returns whether the record names the columns, as where parts of a log were joined.
  virtual bool is_header(std::string_view) { return false; }

  // Returns for each column whether any record had it; nothing where all records have all columns.
  virtual std::vector<bool> columns_seen() const { return {}; }

  // Returns how many examples had a key that a joined table lacks.
  virtual std::uint64_t missing_keys() const { return 0; }
};

// A format of text: how it is cut into records, and what makes examples of them.
struct TextFormat {
  TextRules rules;
  // Returns a parser that adds the values that tables are asked for to the list, if there is one.
  // No record may be longer than the size, which fits into a page of the data file.
  std::function<std::unique_ptr<ExampleParser>(const Schema&, std::size_t longest_record,
                                               std::vector<Lookup>*)>
      make_parser;
};

// Returns the format of text whose columns are separated as the schema says. A joined table adds
// its columns, which are the schema's last, to every line; throws UserError if they are not.
TextFormat separated_text(const Schema& schema,
                          std::shared_ptr<const JoinedTable> joined = nullptr);

}  // namespace lazydp
