#pragma once
// Finds where the records of a text end.

#include <cstddef>
#include <string>
#include <string_view>

#include "lazydp/data/schema.h"

namespace lazydp {

inline constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20;

// A record ends with its line; if fields may be quoted, a quote that is open there goes on with the
// next line. A quote that does not end well, or makes the record longer than kMaxLineBytes, spoils
// its own line only: the next one is a record again.
class RecordEnds {
 public:
  RecordEnds() = default;  // every line is a record
  explicit RecordEnds(const Schema& schema)
      : separator_(schema.separator), quotes_(schema.quotes), trim_(schema.trim) {}

  bool quotes() const { return quotes_; }

  // Returns the length of the record at the start of `text`, with its newline. Returns npos if the
  // text does not hold its end, and `ended` is false: it goes on elsewhere.
  std::size_t first(std::string_view text, bool ended) const;

 private:
  std::size_t first_with_quotes(std::string_view text) const;
  std::size_t next_field(std::string_view line, std::size_t i) const;
  static bool skip_quoted(std::string_view text, std::size_t& i);
  void skip_spaces(std::string_view text, std::size_t& i) const {
    while (trim_ && i < text.size() && text[i] == ' ') ++i;
  }

  std::string separator_;
  bool quotes_ = false;
  bool trim_ = false;
};

}  // namespace lazydp
