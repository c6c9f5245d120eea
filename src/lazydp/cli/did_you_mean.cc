#include "lazydp/cli/did_you_mean.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace lazydp::cli {
namespace {

// The distance of Damerau and Levenshtein, without edits inside swapped pairs.
std::size_t slips(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string_view nearest(std::string_view typed, std::span<const std::string_view> names) {
  std::string_view best;
  std::size_t fewest = std::max<std::size_t>(2, typed.size() / 3) + 1;
  for (const std::string_view name : names) {
    const std::size_t count = slips(typed, name);
    if (count >= fewest) continue;
    fewest = count;
    best = name;
  }
  return best;
}

}  // namespace lazydp::cli
