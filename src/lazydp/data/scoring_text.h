#pragma once
// Text whose examples are to be scored: a label, if there is one, is not read.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lazydp/data/example_encoder.h"
#include "lazydp/data/text/lines.h"

namespace lazydp {

// How the columns of a text are found.
struct ScoringTextOptions {
  std::string path;                    // "-" for standard input
  bool header = true;                  // the first line names the columns, in any order
  bool any_columns = false;            // a column that the model reads may be left out
  std::vector<std::string> keep = {};  // columns whose text is kept, in this order
};

// Reads the examples of a text, some at a time. Quotes, separators and missing values are those of
// the schema. With a header the columns may stand in any order, and columns that the schema does
// not have may stand between them; without one they are the schema's, with or without the label.
//
// Throws UserError for a column that is missing, and, with the line, for a value that cannot be
// used; IoError if the text cannot be read.
class ScoringText {
 public:
  ScoringText(const Schema& schema, ScoringTextOptions options);

  // Returns the names of the text's columns, in its order.
  const std::vector<std::string>& names() const { return names_; }

  // Returns whether the text has this column of the schema.
  bool has(std::size_t column) const { return places_[column].has_value(); }

  // Returns the values of the next line by the schema's columns, valid until the next call;
  // nothing at the end.
  std::optional<std::vector<TextValue>> next();

  // Returns all texts of the line that next() returned, valid as long.
  const std::vector<std::string>& fields() const { return fields_; }

  // Returns the kept texts of the line that next() returned, valid as long.
  const std::vector<std::string>& kept() const { return kept_; }

  // Throws UserError that says why a value of the line that next() returned cannot be used.
  [[noreturn]] void refuse_line(const std::string& why) const;
  [[noreturn]] void refuse_long_line() const;

 private:
  bool next_line(std::string_view& line);
  void read_columns();
  void name_columns_of_schema(std::size_t count);
  void split(std::string_view line);

  Schema schema_;
  ScoringTextOptions options_;
  RecordEnds ends_;
  LineBlocks blocks_;
  LineBlock block_;
  std::string_view rest_;                  // of block_
  std::optional<std::string_view> first_;  // a line that was read to count its columns
  std::size_t line_ = 0;                   // number of the last record's first line, from 1
  std::size_t next_line_ = 1;              // number of the line behind that record
  std::string scratch_;
  std::vector<std::string> names_;
  std::vector<std::optional<std::size_t>> places_;  // of each column of the schema, in the text
  std::vector<std::size_t> keep_;                   // places of the columns that are kept
  std::vector<std::string> fields_;                 // of the last line
  std::vector<std::string> kept_;
};

}  // namespace lazydp
