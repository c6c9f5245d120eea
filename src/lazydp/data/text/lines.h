#pragma once
// Splits inputs into blocks of lines, and a line into its fields.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lazydp/data/schema.h"
#include "lazydp/data/text/byte_source.h"
#include "lazydp/data/text/record_ends.h"

namespace lazydp {

// Whole records of one input, each with its newline.
struct LineBlock {
  std::unique_ptr<char[]> buffer;  // `capacity` bytes, not cleared: an input may have a few lines
  std::size_t capacity = 0;
  std::string_view text;  // in `buffer`
  // The ends of some records, the last one included, where not every newline ends one.
  std::vector<std::size_t> record_ends;
  std::size_t input = 0;       // index of the input
  bool starts_input = false;   // its first line is the input's first
  bool then_too_long = false;  // a line that was too long followed these lines and was left out

  // Cuts `text` at ends of records into at most `count` parts of about equal length.
  std::vector<std::string_view> parts(std::size_t count) const;
};

// How text is cut into records, and which text it is.
struct TextRules {
  RecordEnds ends = {};
  bool json = false;  // JSON lines rather than separated text
};

// Reads the lines of several inputs, some megabytes at a time.
//
// Memory does not grow with the length of a line: a line longer than kMaxLineBytes is skipped. A
// byte order mark at the start of an input is not part of its first line. The last line of an input
// need not end with a newline. In an input whose first line ends with a carriage return alone, all
// lines do; such ends become newlines.
class LineBlocks {
 public:
  explicit LineBlocks(std::vector<std::string> paths, TextRules rules = {},
                      std::size_t block_bytes = std::size_t{8} << 20);

  // Reads the next block; returns false at the end of the last input. Throws UserError for an input
  // that is not text.
  bool next(LineBlock& block);

  std::uint64_t text_bytes() const { return text_bytes_; }      // decompressed, so far
  std::uint64_t packed_bytes() const { return packed_bytes_; }  // as read

 private:
  bool fill(LineBlock& block);
  void skip_rest_of_line(LineBlock& block);
  std::size_t end_of_last_record(LineBlock& block, bool ended) const;

  std::vector<std::string> paths_;
  TextRules rules_;
  std::size_t block_bytes_;
  std::size_t input_ = 0;
  std::unique_ptr<ByteSource> source_;
  bool started_ = false;     // part of this input was already returned
  bool returns_ = false;     // lines of this input end with carriage returns
  bool skipping_ = false;    // the start of the line was too long
  std::vector<char> carry_;  // the start of a line whose end has not been read
  std::uint64_t text_bytes_ = 0;
  std::uint64_t packed_bytes_ = 0;
};

struct Field {
  std::string_view value;  // without quotes and, if trimmed, spaces
  std::size_t column = 0;  // position of its first character in the line, from 1
};

class Fields {
 public:
  Fields(const Schema& schema, std::string_view line, std::string& scratch)
      : separator_(schema.separator),
        quotes_(schema.quotes),
        trim_(schema.trim),
        line_(line),
        scratch_(scratch) {}

  bool more() const { return next_ <= line_.size(); }

  // Returns the next field, valid until the next call; nothing if a quote is not closed, or is
  // followed by anything but a separator.
  std::optional<Field> next() {
    if (quotes_ || trim_ || separator_.size() > 1) return next_in_full();
    const std::size_t start = next_;
    const void* found = std::memchr(line_.data() + start, separator_[0], line_.size() - start);
    const std::size_t end =
        found == nullptr ? line_.size()
                         : static_cast<std::size_t>(static_cast<const char*>(found) - line_.data());
    next_ = end + 1;
    return Field{line_.substr(start, end - start), start + 1};
  }

  std::size_t column() const { return next_ + 1; }  // where the next field starts

 private:
  std::optional<Field> next_in_full();
  std::optional<Field> next_quoted(std::size_t start);

  std::string_view separator_;
  bool quotes_;
  bool trim_;
  std::string_view line_;
  std::size_t next_ = 0;  // past the end of the line: no more fields
  std::string& scratch_;
};

}  // namespace lazydp
