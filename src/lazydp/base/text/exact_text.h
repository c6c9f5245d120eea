#pragma once
// A number as the shortest text that reads back as the same number.

#include <array>
#include <charconv>
#include <string>

namespace lazydp {

inline std::string exact_text(double value) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

}  // namespace lazydp
