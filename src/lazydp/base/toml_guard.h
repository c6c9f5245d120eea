#pragma once
// What of TOML must not reach the library that reads it.

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "lazydp/base/error.h"

namespace lazydp {

inline bool beyond_ascii(char c) {
  return static_cast<unsigned char>(c) >= 0x80;
}

// The line of the first character beyond ASCII that stands outside of quotes and comments, or after
// a backslash and any blanks behind it; 0 if there is none. On some of them (U+00A1 to U+0499 and a
// few others) toml++ 3.3 runs into undefined behaviour when it asks whether they are white space,
// and these are the places where it asks. Up to the first mistake, at which toml++ stops, this sees
// the same quotes and comments as it does: a quote where no string can begin is no quote, because
// toml++ looks beyond it for the end of a value.
inline std::size_t line_beyond_ascii(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  constexpr char kNothing = '\0', kComment = '#';
  constexpr std::string_view kBeforeAString = "\n=,[{.";
  char within = kNothing;  // or a comment, or the quote that will end it
  char before = '\n';      // the last character outside of quotes that is no blank
  bool three = false;      // of those quotes: lines may end within
  std::size_t line = 1;
  const auto three_at = [text](std::size_t i) {
    return text.size() - i >= 3 && text[i + 1] == text[i] && text[i + 2] == text[i];
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      ++line;
      if (!three) within = kNothing;
      before = c;
    } else if (within == kNothing) {
      if (beyond_ascii(c)) return line;
      const bool quote = c == '"' || c == '\'';
      const bool opens = quote && kBeforeAString.find(before) != std::string_view::npos;
      if (c != ' ' && c != '\t') before = c;
      if (!opens && c != kComment) continue;
      within = c;
      three = c != kComment && three_at(i);
      if (three) i += 2;
    } else if (c == '\\' && within == '"') {
      const std::size_t next = text.find_first_not_of(" \t\r\n", i + 1);
      if (next != std::string_view::npos && beyond_ascii(text[next])) {
        return line + static_cast<std::size_t>(std::count(&text[i], &text[next], '\n'));
      }
      if (i + 1 < text.size() && text[i + 1] != '\n') ++i;
    } else if (c == within && within != kComment && (!three || three_at(i))) {
      if (three) i += 2;
      // Up to two more quotes before the last three are text.
      for (int more = 0; three && more < 2 && i + 1 < text.size() && text[i + 1] == c; ++more) ++i;
      within = kNothing;
      three = false;
    }
  }
  return 0;
}

// Throws UserError if there is one. `name` is where the text comes from.
inline void refuse_beyond_ascii(std::string_view text, const std::string& name) {
  const std::size_t line = line_beyond_ascii(text);
  if (line == 0) return;
  throw UserError(name + ", line " + std::to_string(line) +
                  ": a character beyond ASCII must stand in quotes, and not after a backslash");
}

}  // namespace lazydp
