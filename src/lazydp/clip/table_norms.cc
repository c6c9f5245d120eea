#include "lazydp/clip/table_norms.h"

#include <algorithm>
#include <bit>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/kernels/vector.h"

namespace lazydp {

namespace {

std::uint64_t scattered(RowId row) {
  return static_cast<std::uint64_t>(row) * 0x9E3779B97F4A7C15u;
}

}  // namespace

bool DistinctRows::surely(std::span<const RowId> ids) {
  constexpr std::size_t kWorthIt = 256;  // with more ids, two are likely to share a bit
  if (ids.size() > kWorthIt) return false;
  constexpr int kUnused = 64 - kFilterBits;
  std::uint64_t seen = 0;
  for (const RowId id : ids) {
    const std::uint64_t place = scattered(id) >> kUnused;
    const std::uint64_t bit = std::uint64_t{1} << place % 64;
    seen |= filter_[place / 64] & bit;
    filter_[place / 64] |= bit;
  }
  for (const RowId id : ids) filter_[(scattered(id) >> kUnused) / 64] = 0;
  return seen == 0;
}

void RowNumbers::start(std::size_t rows) {
  count_ = 0;
  const std::size_t slots = std::bit_ceil(2 * rows + 2);
  if (slots > slots_.size() || ++stamp_ == 0) {
    slots_.assign(std::max(slots, slots_.size()), Slot{});
    stamp_ = 1;
  }
}

std::uint32_t RowNumbers::number(RowId row) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = (scattered(row) >> 32) & mask;
  while (slots_[at].stamp == stamp_ && slots_[at].row != row) at = (at + 1) & mask;
  if (slots_[at].stamp != stamp_) slots_[at] = {row, stamp_, count_++};
  return slots_[at].number;
}

float BagCoefficients::squared(const Bags& bags, Pooling mode, std::size_t example) {
  const std::size_t length = bags.length(example);
  if (length == 0) return 0.0f;
  const float share = mode == Pooling::mean ? 1.0f / static_cast<float>(length) : 1.0f;
  if (length == 1) {
    const float weight = share * bags.weight(bags.offsets[example]);
    return weight * weight;
  }
  const std::size_t first = bags.offsets[example];
  float sum = 0.0f;
  if (distinct_.surely(std::span(bags.ids).subspan(first, length))) {
    if (bags.weights.empty()) return static_cast<float>(length) * share * share;
    for (std::size_t k = first; k < first + length; ++k) {
      const float weight = share * bags.weight(k);
      sum += weight * weight;
    }
    return sum;
  }
  numbers_.start(length);
  coefficients_.clear();
  for (std::size_t k = first; k < first + length; ++k) {
    const std::uint32_t number = numbers_.number(bags.ids[k]);
    if (number == coefficients_.size()) coefficients_.push_back(0.0f);
    coefficients_[number] += share * bags.weight(k);
  }
  // Squares totals: a running sum of squares would lose terms that cancel.
  for (const float coefficient : coefficients_) sum += coefficient * coefficient;
  return sum;
}

void add_squared_table_norms(const TableCall& call, std::span<float> squared) {
  add_squared_table_norms({&call, 1}, {&squared, 1});
}

void add_squared_table_norms(std::span<const TableCall> calls,
                             std::span<const std::span<float>> squared) {
  std::size_t most = 0;
  for (std::size_t k = 0; k < calls.size(); ++k) {
    check(calls[k].bags_per_example == 1 && calls[k].first_bags.empty(),
          "one bag for each example");
    most = std::max(most, squared[k].size());
  }
  constexpr std::size_t kExamplesPerTask = 256;
  const std::size_t blocks = (most + kExamplesPerTask - 1) / kExamplesPerTask;
  parallel_for(calls.size() * blocks, [&](std::size_t task) {
    const TableCall& call = calls[task / blocks];
    const std::span<float> out = squared[task / blocks];
    const std::size_t begin = task % blocks * kExamplesPerTask;
    BagCoefficients bag;
    for (std::size_t i = begin; i < std::min(begin + kExamplesPerTask, out.size()); ++i) {
      out[i] += bag.squared(*call.bags, call.mode, i) * squared_norm(call.gradients.row(i));
    }
  });
}

}  // namespace lazydp
