#pragma once
// Text as TOML writes it, between quotes, whatever it holds.

#include <array>
#include <cstdio>
#include <string>
#include <string_view>

namespace lazydp {

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

}  // namespace lazydp
