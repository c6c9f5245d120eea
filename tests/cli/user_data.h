#pragma once
// A log of what users did, from which an item's label can be learned.

#include <string>

namespace lazydp::cli {

inline constexpr const char* kUserSchema = R"(
[[column]]
name = "user"
role = "categorical"
rows = 300
key = true
[[column]]
name = "item"
role = "categorical"
rows = 64
[[column]]
name = "y"
role = "label"
positive = "1"
)";

// Lines of 200 users in turn, the first of whom is `first`; items below `positive` have label 1.
inline std::string user_lines(int count, int first = 0, int positive = 20) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += "u" + std::to_string((i + first) % 200) + ",i" + std::to_string(i * 7 % 41) + "," +
            std::to_string(i * 7 % 41 < positive) + "\n";
  }
  return text;
}

inline constexpr const char* kTwoLinesWithoutUser = ",i3,1\n,i4,1\n";

}  // namespace lazydp::cli
