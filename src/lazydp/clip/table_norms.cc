#include "lazydp/clip/table_norms.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "lazydp/base/parallel.h"
#include "lazydp/clip/bag_norm.h"
#include "lazydp/kernels/vector.h"

namespace lazydp {
namespace {

// A row that one bag names.
struct Use {
  RowId row = 0;
  float coefficient = 0.0f;
  const float* gradient = nullptr;
  float squared = 0.0f;  // of the gradient
};

// Finds the use of a row among those of one example. Entries of earlier examples are told by their
// stamp, so that nothing is ever cleared.
class UseIndex {
 public:
  void start(std::size_t uses) {
    const std::size_t slots = std::bit_ceil(2 * uses + 2);
    if (slots > slots_.size()) slots_.assign(slots, Slot{});
    mask_ = slots_.size() - 1;
    ++stamp_;
  }
  // The place of the row's first use; `place` itself when it had none.
  std::size_t find_or_add(RowId row, std::size_t place) {
    std::size_t at = (static_cast<std::uint64_t>(row) * 0x9E3779B97F4A7C15u >> 32) & mask_;
    for (;; at = (at + 1) & mask_) {
      Slot& slot = slots_[at];
      if (slot.stamp != stamp_) {
        slot = {stamp_, row, place};
        return place;
      }
      if (slot.row == row) return slot.place;
    }
  }

 private:
  struct Slot {
    std::uint64_t stamp = 0;
    RowId row = 0;
    std::size_t place = 0;
  };
  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
  std::uint64_t stamp_ = 0;
};

class ExampleNorm {
 public:
  float squared(std::span<const TableCall> calls, std::size_t example) {
    if (calls.size() == 1 && calls[0].bags_per_example == 1) {  // the usual case is a quick one
      return bag_.squared(*calls[0].bags, calls[0].mode, example) *
             squared_norm(calls[0].gradients.row(example));
    }
    gather(calls, example);
    if (one_bag_a_row_) {
      float sum = 0.0f;
      for (const Use& use : uses_) sum += use.coefficient * use.coefficient * use.squared;
      return sum;
    }
    return by_row(calls[0].gradients.cols);
  }

 private:
  // Uses of one row by one bag become one; a row that several bags use stays several.
  void gather(std::span<const TableCall> calls, std::size_t example) {
    uses_.clear();
    one_bag_a_row_ = true;
    std::size_t most = 0;
    for (const TableCall& call : calls) {
      const std::size_t first = example * call.bags_per_example;
      most += call.bags->offsets[first + call.bags_per_example] - call.bags->offsets[first];
    }
    index_.start(most);
    for (const TableCall& call : calls) {
      const std::size_t first = example * call.bags_per_example;
      for (std::size_t b = first; b < first + call.bags_per_example; ++b) add_bag(call, b);
    }
  }

  void add_bag(const TableCall& call, std::size_t bag) {
    const std::size_t length = call.bags->length(bag);
    if (length == 0) return;
    const float share = call.mode == Pooling::mean ? 1.0f / static_cast<float>(length) : 1.0f;
    const std::span<const float> gradient = call.gradients.row(bag);
    const float squared = squared_norm(gradient);
    for (std::size_t k = call.bags->offsets[bag]; k < call.bags->offsets[bag + 1]; ++k) {
      const Use use = {call.bags->ids[k], share * call.bags->weight(k), gradient.data(), squared};
      const std::size_t place = index_.find_or_add(use.row, uses_.size());
      if (place < uses_.size() && uses_[place].gradient == use.gradient) {
        uses_[place].coefficient += use.coefficient;
      } else {
        one_bag_a_row_ = one_bag_a_row_ && place == uses_.size();
        uses_.push_back(use);
      }
    }
  }

  float by_row(std::size_t dim) {
    std::ranges::stable_sort(uses_, {}, &Use::row);
    float sum = 0.0f;
    for (std::size_t i = 0; i < uses_.size();) {
      total_.assign(dim, 0.0f);
      const RowId row = uses_[i].row;
      for (; i < uses_.size() && uses_[i].row == row; ++i) {
        add_scaled(uses_[i].coefficient, {uses_[i].gradient, dim}, total_);
      }
      sum += squared_norm(total_);
    }
    return sum;
  }

  BagCoefficients bag_;
  UseIndex index_;
  std::vector<Use> uses_;
  bool one_bag_a_row_ = true;
  std::vector<float> total_;
};

}  // namespace

void add_squared_table_norms(std::span<const TableCall> calls, std::span<float> squared) {
  if (calls.empty()) return;
  constexpr std::size_t kExamples = 64;
  parallel_blocks(squared.size(), kExamples, [&](std::size_t begin, std::size_t end) {
    ExampleNorm norm;
    for (std::size_t i = begin; i < end; ++i) squared[i] += norm.squared(calls, i);
  });
}

}  // namespace lazydp
