#include "lazydp/clip/table_norms.h"

#include <algorithm>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/clip/bag_norm.h"
#include "lazydp/kernels/vector.h"

namespace lazydp {
namespace {

constexpr std::size_t kExamplesPerTask = 64;

// A row that a bag of the example names.
struct Use {
  RowId row = 0;
  double coefficient = 0.0;
  const float* gradient = nullptr;
};

// The uses of one example, those of one row side by side.
void gather_uses(std::span<const TableCall> calls, std::size_t example, std::vector<Use>& uses) {
  uses.clear();
  for (const TableCall& call : calls) {
    const std::size_t first = example * call.bags_per_example;
    for (std::size_t b = first; b < first + call.bags_per_example; ++b) {
      const std::size_t length = call.bags->length(b);
      const double share = call.mode == Pooling::mean ? 1.0 / static_cast<double>(length) : 1.0;
      for (std::size_t k = call.bags->offsets[b]; k < call.bags->offsets[b + 1]; ++k) {
        uses.push_back({call.bags->ids[k], share * static_cast<double>(call.bags->weight(k)),
                        call.gradients.row(b).data()});
      }
    }
  }
  std::ranges::stable_sort(uses, {}, &Use::row);
}

std::size_t distinct_rows(std::span<const Use> uses) {
  std::size_t rows = 0;
  for (std::size_t i = 0; i < uses.size(); ++i) rows += i == 0 || uses[i].row != uses[i - 1].row;
  return rows;
}

}  // namespace

void add_squared_table_norms(const TableCall& call, std::span<float> squared) {
  check(call.bags_per_example == 1, "one bag for each example");
  parallel_blocks(squared.size(), kExamplesPerTask, [&](std::size_t begin, std::size_t end) {
    BagCoefficients bag;
    for (std::size_t i = begin; i < end; ++i) {
      squared[i] += bag.squared(*call.bags, call.mode, i) * squared_norm(call.gradients.row(i));
    }
  });
}

MergedRows merge_rows(std::span<const TableCall> calls, std::size_t examples) {
  MergedRows merged;
  merged.first.assign(examples + 1, 0);
  parallel_blocks(examples, kExamplesPerTask, [&](std::size_t begin, std::size_t end) {
    std::vector<Use> uses;
    for (std::size_t i = begin; i < end; ++i) {
      gather_uses(calls, i, uses);
      merged.first[i + 1] = distinct_rows(uses);
    }
  });
  for (std::size_t i = 0; i < examples; ++i) merged.first[i + 1] += merged.first[i];
  const std::size_t rows = merged.first.back();
  const std::size_t dim = calls.empty() ? 0 : calls[0].gradients.cols;
  merged.values.reshape(rows, dim);
  merged.bags.ids.resize(rows);
  merged.bags.offsets.resize(rows + 1);
  for (std::size_t r = 0; r <= rows; ++r) merged.bags.offsets[r] = r;
  parallel_blocks(examples, kExamplesPerTask, [&](std::size_t begin, std::size_t end) {
    std::vector<Use> uses;
    std::vector<double> total(dim);
    for (std::size_t i = begin; i < end; ++i) {
      gather_uses(calls, i, uses);
      std::size_t to = merged.first[i];
      for (std::size_t u = 0; u < uses.size(); ++to) {
        const RowId row = uses[u].row;
        std::ranges::fill(total, 0.0);
        for (; u < uses.size() && uses[u].row == row; ++u) {
          for (std::size_t j = 0; j < dim; ++j) {
            total[j] += uses[u].coefficient * static_cast<double>(uses[u].gradient[j]);
          }
        }
        merged.bags.ids[to] = row;
        std::ranges::transform(total, merged.values.row(to).begin(),
                               [](double x) { return static_cast<float>(x); });
      }
    }
  });
  return merged;
}

void add_squared_norms(const MergedRows& rows, std::span<float> squared) {
  for (std::size_t i = 0; i < squared.size(); ++i) {
    for (std::size_t r = rows.first[i]; r < rows.first[i + 1]; ++r) {
      squared[i] += squared_norm(rows.values.row(r));
    }
  }
}

}  // namespace lazydp
