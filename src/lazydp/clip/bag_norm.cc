#include "lazydp/clip/bag_norm.h"

#include <algorithm>

#include "lazydp/kernels/vector.h"

namespace lazydp {
namespace {

// Appends the bag's occurrences with their coefficients, plain or divided by the bag's length.
void append(const Bags& bags, Pooling mode, std::size_t example, std::vector<Occurrence>& out) {
  const std::size_t length = bags.length(example);
  const float share =
      mode == Pooling::mean && length > 0 ? 1.0f / static_cast<float>(length) : 1.0f;
  for (std::size_t k = bags.offsets[example]; k < bags.offsets[example + 1]; ++k) {
    out.push_back({bags.ids[k], share * bags.weight(k)});
  }
}

// Sorts by row and adds up the coefficients of equal rows.
void merge(std::vector<Occurrence>& rows) {
  std::ranges::sort(rows, {}, &Occurrence::row);
  std::size_t last = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].row == rows[last].row) {
      rows[last].coefficient += rows[i].coefficient;
    } else {
      rows[++last] = rows[i];
    }
  }
  if (!rows.empty()) rows.resize(last + 1);
}

}  // namespace

float squared_coefficients(const Bags& bags, Pooling mode, std::size_t example,
                           std::vector<Occurrence>& scratch) {
  if (bags.length(example) == 0) return 0.0f;
  if (bags.length(example) == 1) {
    const float weight = bags.weight(bags.offsets[example]);
    return weight * weight;
  }
  scratch.clear();
  append(bags, mode, example, scratch);
  merge(scratch);
  float sum = 0.0f;
  for (const Occurrence& row : scratch) sum += row.coefficient * row.coefficient;
  return sum;
}

float squared_table_norm(std::span<const Lookup> lookups, std::size_t example,
                         std::vector<Occurrence>& scratch) {
  if (lookups.size() == 1) {
    const Lookup& only = lookups[0];
    return squared_coefficients(*only.bags, only.mode, example, scratch) *
           squared_norm(only.gradients.row(example));
  }
  float sum = 0.0f;
  std::vector<Occurrence> first;
  std::vector<Occurrence> second;
  for (std::size_t k = 0; k < lookups.size(); ++k) {
    first.clear();
    append(*lookups[k].bags, lookups[k].mode, example, first);
    merge(first);
    for (std::size_t l = 0; l <= k; ++l) {
      second.clear();
      append(*lookups[l].bags, lookups[l].mode, example, second);
      merge(second);
      float shared = 0.0f;
      auto other = second.begin();
      for (const Occurrence& row : first) {
        while (other != second.end() && other->row < row.row) ++other;
        if (other != second.end() && other->row == row.row) {
          shared += row.coefficient * other->coefficient;
        }
      }
      const float dots = dot(lookups[k].gradients.row(example), lookups[l].gradients.row(example));
      sum += (l == k ? 1.0f : 2.0f) * shared * dots;
    }
  }
  return sum;
}

}  // namespace lazydp
