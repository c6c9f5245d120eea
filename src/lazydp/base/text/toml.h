#pragma once
// TOML that is read from untrusted text, and values written as TOML.

#include <toml++/toml.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>

namespace lazydp {

// Returns the shortest text that reads back as the same number.
inline std::string exact_text(double value) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

// Returns `text` as a quoted TOML string, whatever characters it holds.
inline std::string toml_text(std::string_view text) {
  constexpr char kFirstPrintable = 0x20;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\t') {
      out += "\\t";
    } else if ((c >= 0 && c < kFirstPrintable) || c == 0x7f) {
      std::array<char, 8> escape;
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
      out += escape.data();
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// Parses TOML whose keys are in ASCII. Throws UserError, with a one-line message that begins with
// `where`, for any other text.
toml::table parse_toml(std::string_view text, const std::string& where);

}  // namespace lazydp
