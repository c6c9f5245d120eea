#include "lazydp/kernels/rows.h"

#include "lazydp/kernels/prefetch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lazydp/kernels/rows.cc"
#include <hwy/foreach_target.h>
// Highway's own header must follow the line above.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace lazydp::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kAhead = 32;  // distance of the prefetch, in rows

inline float weight_of(const BagList& bags, std::size_t position, float shared) {
  return bags.weights == nullptr ? shared : shared * bags.weights[position];
}

// The rows of one bag, and their weights.
struct Bag {
  const BagList& bags;
  std::size_t begin;
  std::size_t end;
  float shared;

  // Returns the end of the rows to prefetch: with the first columns, rows of this bag and of later
  // ones are prefetched, with other columns none.
  std::size_t ask_before(std::size_t column) const {
    return column == 0 ? bags.offsets[bags.bags] : 0;
  }
  // Returns the weight of row k, and prefetches the row kAhead after it.
  float visit(std::size_t k, const float* table, std::size_t dim, std::size_t before) const {
    if (k + kAhead < before) {
      prefetch_row(table + static_cast<std::size_t>(bags.ids[k + kAhead]) * dim, dim);
    }
    return weight_of(bags, k, shared);
  }
};

// Sums columns [column, column + kVectors vectors) of a bag in registers.
template <std::size_t kVectors, class D>
inline HWY_ATTR void pool_columns(D d, const float* table, std::size_t dim, const Bag& bag,
                                  std::size_t column, float* out) {
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t before = bag.ask_before(column);
  decltype(hn::Zero(d)) sums[kVectors];
  for (auto& sum : sums) sum = hn::Zero(d);
  for (std::size_t k = bag.begin; k < bag.end; ++k) {
    const auto w = hn::Set(d, bag.visit(k, table, dim, before));
    const float* row = table + static_cast<std::size_t>(bag.bags.ids[k]) * dim + column;
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kVectors; ++v) {
      sums[v] = hn::MulAdd(w, hn::LoadU(d, row + v * lanes), sums[v]);
    }
  }
  for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, out + column + v * lanes);
}

void pool_rows(const float* table, std::size_t dim, const BagList& bags, float* out,
               std::size_t stride) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t b = 0; b < bags.bags; ++b) {
    const std::size_t begin = bags.offsets[b];
    const std::size_t end = bags.offsets[b + 1];
    const float shared = bags.mean && end > begin ? 1.0f / static_cast<float>(end - begin) : 1.0f;
    const Bag bag = {bags, begin, end, shared};
    float* to = out + b * stride;
    std::size_t j = 0;
    for (; j + 4 * lanes <= dim; j += 4 * lanes) pool_columns<4>(d, table, dim, bag, j, to);
    for (; j + lanes <= dim; j += lanes) pool_columns<1>(d, table, dim, bag, j, to);
    for (; j < dim; ++j) {
      float sum = 0.0f;
      for (std::size_t k = begin; k < end; ++k) {
        const float weight = bag.visit(k, table, dim, bag.ask_before(j));
        sum += weight * table[static_cast<std::size_t>(bags.ids[k]) * dim + j];
      }
      to[j] = sum;
    }
  }
}

std::uint64_t add_to_rows(float* table, std::size_t dim, const BagList& bags, const float* gradient,
                          std::size_t stride, float factor, std::size_t share, std::size_t shares) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t last = bags.offsets[bags.bags];
  const auto owns = [share, shares](std::size_t id) {
    return shares == 1 ||
           static_cast<std::uint32_t>(id >> 4) % static_cast<std::uint32_t>(shares) == share;
  };
  std::uint64_t added = 0;
  for (std::size_t b = 0; b < bags.bags; ++b) {
    const std::size_t begin = bags.offsets[b];
    const std::size_t end = bags.offsets[b + 1];
    const float shared =
        bags.mean && end > begin ? factor / static_cast<float>(end - begin) : factor;
    const float* g = gradient + b * stride;
    for (std::size_t k = begin; k < end; ++k) {
      if (k + kAhead < last) {
        const auto ahead = static_cast<std::size_t>(bags.ids[k + kAhead]);
        if (owns(ahead)) prefetch_row(table + ahead * dim, dim);
      }
      const auto id = static_cast<std::size_t>(bags.ids[k]);
      if (!owns(id)) continue;
      float* row = table + id * dim;
      const float weight = weight_of(bags, k, shared);
      const auto w = hn::Set(d, weight);
      const auto add = [&](std::size_t at) HWY_ATTR {
        hn::StoreU(hn::MulAdd(w, hn::LoadU(d, g + at), hn::LoadU(d, row + at)), d, row + at);
      };
      std::size_t j = 0;
      for (; j + 4 * lanes <= dim; j += 4 * lanes) {
        add(j);
        add(j + lanes);
        add(j + 2 * lanes);
        add(j + 3 * lanes);
      }
      for (; j + lanes <= dim; j += lanes) add(j);
      for (; j < dim; ++j) row[j] += weight * g[j];
      ++added;
    }
  }
  return added;
}

}  // namespace lazydp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lazydp {

HWY_EXPORT(pool_rows);
HWY_EXPORT(add_to_rows);

void pool_rows(const float* table, std::size_t dim, const BagList& bags, float* out,
               std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(pool_rows)(table, dim, bags, out, stride);
}

std::uint64_t add_to_rows(float* table, std::size_t dim, const BagList& bags, const float* gradient,
                          std::size_t stride, float factor, std::size_t share, std::size_t shares) {
  return HWY_DYNAMIC_DISPATCH(add_to_rows)(table, dim, bags, gradient, stride, factor, share,
                                           shares);
}

}  // namespace lazydp
#endif
