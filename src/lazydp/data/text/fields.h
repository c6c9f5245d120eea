#pragma once
// The fields of a line of text, one after the other.

#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "lazydp/data/schema.h"

namespace lazydp {

struct Field {
  std::string_view value;  // without quotes and, if trimmed, spaces
  std::size_t column = 0;  // of its first character in the line, from 1
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

  // The next one, valid until it is called again; nothing if a quote is not closed, or is followed
  // by something else than a separator.
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

  std::size_t column() const { return next_ + 1; }  // where the next one starts

 private:
  std::optional<Field> next_in_full();
  std::optional<Field> next_quoted(std::size_t start);

  std::string_view separator_;
  bool quotes_;
  bool trim_;
  std::string_view line_;
  std::size_t next_ = 0;  // past the end of the line: there are no more
  std::string& scratch_;
};

}  // namespace lazydp
