#include "lazydp/clip/merged_rows.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/kernels/vector.h"

namespace lazydp {
namespace {

float share_of(const TableCall& call, std::size_t bag) {
  return call.mode == Pooling::mean ? 1.0f / static_cast<float>(call.bags->length(bag)) : 1.0f;
}

// An occurrence of a row in a bag of the group.
struct Use {
  std::size_t call = 0;
  std::size_t bag = 0;
  std::size_t position = 0;  // among the ids of the call
  float coefficient = 0.0f;
  double squared_gradient = 0.0;  // of the bag
};

// The merged rows of some groups, group after group.
struct Part {
  std::vector<std::size_t> rows_of_group;
  std::vector<RowId> rows;
  std::vector<float> values;
};

// Merges groups one after the other. Each task has its own.
class Merger {
 public:
  // Sets leaves[call][position] to 1 for each id that leaves its bag, because it is merged.
  Merger(std::span<const TableCall> calls, std::vector<std::vector<std::uint8_t>>& leaves)
      : calls_(calls), leaves_(leaves) {}

  // Merges the examples [begin, end). Returns the squared norm of their gradient.
  double merge(std::size_t begin, std::size_t end, Part& part) {
    gather(begin, end);
    const std::size_t before = part.rows.size();
    double squared = 0.0;
    if (distinct_.surely(ids_)) {
      for (const Use& use : uses_) squared += of_one(use);
    } else {
      order_.clear();
      for (std::size_t i = 0; i < ids_.size(); ++i) order_.emplace_back(ids_[i], i);
      std::ranges::sort(order_);
      for (std::size_t first = 0; first < order_.size();) {
        std::size_t last = first + 1;
        while (last < order_.size() && order_[last].first == order_[first].first) ++last;
        const auto occurrences = std::span(order_).subspan(first, last - first);
        squared += occurrences.size() == 1 ? of_one(uses_[occurrences[0].second])
                                           : of_several(occurrences, part);
        first = last;
      }
    }
    part.rows_of_group.push_back(part.rows.size() - before);
    return squared;
  }

 private:
  using Occurrence = std::pair<RowId, std::size_t>;  // row, index of the use

  void gather(std::size_t begin, std::size_t end) {
    uses_.clear();
    ids_.clear();
    for (std::size_t c = 0; c < calls_.size(); ++c) {
      const TableCall& call = calls_[c];
      for (std::size_t b = call.first_bag(begin); b < call.first_bag(end); ++b) {
        if (call.bags->length(b) == 0) continue;
        const double squared = squared_norm(call.gradients.row(b));
        const float share = share_of(call, b);
        for (std::size_t k = call.bags->offsets[b]; k < call.bags->offsets[b + 1]; ++k) {
          uses_.push_back({c, b, k, share * call.bags->weight(k), squared});
          ids_.push_back(call.bags->ids[k]);
        }
      }
    }
  }

  static double of_one(const Use& use) {
    const double coefficient = use.coefficient;
    return coefficient * coefficient * use.squared_gradient;
  }

  // Appends the sum of a row's occurrences. Returns its squared norm, as it was rounded.
  double of_several(std::span<const Occurrence> occurrences, Part& part) {
    total_.assign(calls_[0].gradients.cols, 0.0);
    for (const auto& [row, index] : occurrences) {
      const Use& use = uses_[index];
      leaves_[use.call][use.position] = 1;
      const double coefficient = use.coefficient;
      const float* const __restrict d = calls_[use.call].gradients.row(use.bag).data();
      double* const __restrict total = total_.data();
      for (std::size_t j = 0; j < total_.size(); ++j) {
        total[j] += coefficient * static_cast<double>(d[j]);
      }
    }
    part.rows.push_back(occurrences[0].first);
    double squared = 0.0;
    for (const double sum : total_) {
      const float value = static_cast<float>(sum);
      part.values.push_back(value);
      squared += static_cast<double>(value) * static_cast<double>(value);
    }
    return squared;
  }

  std::span<const TableCall> calls_;
  std::vector<std::vector<std::uint8_t>>& leaves_;
  DistinctRows distinct_;
  std::vector<Use> uses_;
  std::vector<RowId> ids_;
  std::vector<Occurrence> order_;
  std::vector<double> total_;
};

// Returns a call's bags without the ids that leave them.
Bags without(const TableCall& call, std::span<const std::uint8_t> leaves) {
  Bags rest;
  rest.ids.reserve(leaves.size());
  rest.weights.reserve(leaves.size());
  rest.offsets.reserve(call.bags->offsets.size());
  for (std::size_t b = 0; b < call.bags->size(); ++b) {
    const float share = share_of(call, b);
    for (std::size_t k = call.bags->offsets[b]; k < call.bags->offsets[b + 1]; ++k) {
      if (leaves[k] != 0) continue;
      rest.ids.push_back(call.bags->ids[k]);
      rest.weights.push_back(share * call.bags->weight(k));
    }
    rest.offsets.push_back(rest.ids.size());
  }
  return rest;
}

// Puts the merged rows of all parts one after the other.
void join(std::span<const Part> parts, std::size_t dim, RowGradients& all) {
  all.first.assign(1, 0);
  for (const Part& part : parts) {
    for (const std::size_t rows : part.rows_of_group) all.first.push_back(all.first.back() + rows);
    all.merged.ids.insert(all.merged.ids.end(), part.rows.begin(), part.rows.end());
  }
  const std::size_t rows = all.merged.ids.size();
  for (std::size_t r = 1; r <= rows; ++r) all.merged.offsets.push_back(r);
  all.values.reshape(rows, dim);
  float* to = all.values.data();
  for (const Part& part : parts) to = std::ranges::copy(part.values, to).out;
}

}  // namespace

RowGradients merge_rows(std::span<const TableCall> calls, std::span<const std::size_t> starts,
                        std::span<double> squared) {
  check(!calls.empty() && !starts.empty(), "a call and its groups");
  const std::size_t groups = starts.size() - 1;
  check(squared.size() == groups, "a norm for each group");
  std::vector<std::vector<std::uint8_t>> leaves;
  for (const TableCall& call : calls) leaves.emplace_back(call.bags->ids.size(), 0);
  constexpr std::size_t kExamplesPerTask = 64;
  const std::size_t examples = std::max<std::size_t>(1, starts.back());
  const std::size_t block = std::max<std::size_t>(1, kExamplesPerTask * groups / examples);
  std::vector<Part> parts((groups + block - 1) / block);
  parallel_blocks(groups, block, [&](std::size_t begin, std::size_t end) {
    Merger merger(calls, leaves);
    for (std::size_t g = begin; g < end; ++g) {
      squared[g] += merger.merge(starts[g], starts[g + 1], parts[begin / block]);
    }
  });
  RowGradients all;
  join(parts, calls[0].gradients.cols, all);
  all.once.resize(calls.size());
  parallel_for(calls.size(), [&](std::size_t c) { all.once[c] = without(calls[c], leaves[c]); });
  return all;
}

}  // namespace lazydp
