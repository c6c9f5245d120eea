#pragma once
// The items that score best, those that were seen left out.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

namespace lazydp {

struct Ranked {
  std::uint32_t item = 0;
  float logit = 0.0f;
};

// Returns whether `a` stands before `b`: equal scores keep the order of the items, and what is not
// a number comes last.
inline bool ranks_before(const Ranked& a, const Ranked& b) {
  if (a.logit > b.logit) return true;
  if (a.logit < b.logit) return false;
  const bool a_number = a.logit == a.logit;
  const bool b_number = b.logit == b.logit;
  return a_number == b_number ? a.item < b.item : a_number;
}

// Returns at most `count` items, the best first. Keeps a heap of so many, whose worst is in front.
inline std::vector<Ranked> best_items(std::span<const float> logits, std::size_t count,
                                      const std::unordered_set<std::uint32_t>& seen) {
  std::vector<Ranked> best;
  for (std::uint32_t i = 0; i < logits.size(); ++i) {
    const Ranked item = {i, logits[i]};
    if (best.size() == count && !ranks_before(item, best.front())) continue;
    if (!seen.empty() && seen.contains(i)) continue;
    if (best.size() == count) {
      std::ranges::pop_heap(best, ranks_before);
      best.pop_back();
    }
    best.push_back(item);
    std::ranges::push_heap(best, ranks_before);
  }
  std::ranges::sort(best, ranks_before);
  return best;
}

}  // namespace lazydp
