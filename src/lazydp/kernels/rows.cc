#include "lazydp/kernels/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lazydp/kernels/rows.cc"
#include <hwy/foreach_target.h>
// Highway wants its own header after the line above.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace lazydp::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kAhead = 16;  // rows that are on their way from memory

inline void prefetch(const float* row, std::size_t dim) {
  for (std::size_t i = 0; i < dim; i += 16) __builtin_prefetch(row + i);
}

inline float weight_of(const BagList& bags, std::size_t position, float shared) {
  return bags.weights == nullptr ? shared : shared * bags.weights[position];
}

// Columns [first, first + 4 vectors) of one bag, summed in registers.
template <class D>
inline HWY_ATTR void pool_columns(D d, const float* table, std::size_t dim, const BagList& bags,
                                  std::size_t begin, std::size_t end, float shared, float* out) {
  const std::size_t lanes = hn::Lanes(d);
  auto s0 = hn::Zero(d);
  auto s1 = s0;
  auto s2 = s0;
  auto s3 = s0;
  for (std::size_t k = begin; k < end; ++k) {
    const float* row = table + static_cast<std::size_t>(bags.ids[k]) * dim;
    const auto w = hn::Set(d, weight_of(bags, k, shared));
    s0 = hn::MulAdd(w, hn::LoadU(d, row), s0);
    s1 = hn::MulAdd(w, hn::LoadU(d, row + lanes), s1);
    s2 = hn::MulAdd(w, hn::LoadU(d, row + 2 * lanes), s2);
    s3 = hn::MulAdd(w, hn::LoadU(d, row + 3 * lanes), s3);
  }
  hn::StoreU(s0, d, out);
  hn::StoreU(s1, d, out + lanes);
  hn::StoreU(s2, d, out + 2 * lanes);
  hn::StoreU(s3, d, out + 3 * lanes);
}

void pool_rows(const float* table, std::size_t dim, const BagList& bags, float* out,
               std::size_t stride) {
  const hn::ScalableTag<float> d;
  const std::size_t step = 4 * hn::Lanes(d);
  const std::size_t last = bags.offsets[bags.bags];
  for (std::size_t b = 0; b < bags.bags; ++b) {
    const std::size_t begin = bags.offsets[b];
    const std::size_t end = bags.offsets[b + 1];
    const float shared = bags.mean && end > begin ? 1.0f / static_cast<float>(end - begin) : 1.0f;
    for (std::size_t k = begin + kAhead; k < end + kAhead && k < last; ++k) {
      prefetch(table + static_cast<std::size_t>(bags.ids[k]) * dim, dim);
    }
    float* to = out + b * stride;
    std::size_t j = 0;
    for (; j + step <= dim; j += step) {
      pool_columns(d, table + j, dim, bags, begin, end, shared, to + j);
    }
    for (; j < dim; ++j) {
      float sum = 0.0f;
      for (std::size_t k = begin; k < end; ++k) {
        sum += weight_of(bags, k, shared) * table[static_cast<std::size_t>(bags.ids[k]) * dim + j];
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
  std::uint64_t added = 0;
  for (std::size_t b = 0; b < bags.bags; ++b) {
    const std::size_t begin = bags.offsets[b];
    const std::size_t end = bags.offsets[b + 1];
    const float shared =
        bags.mean && end > begin ? factor / static_cast<float>(end - begin) : factor;
    const float* g = gradient + b * stride;
    for (std::size_t k = begin; k < end; ++k) {
      if (k + kAhead < last) {
        prefetch(table + static_cast<std::size_t>(bags.ids[k + kAhead]) * dim, dim);
      }
      const auto id = static_cast<std::size_t>(bags.ids[k]);
      if (shares > 1 && (id >> 4) % shares != share) continue;
      float* row = table + id * dim;
      const float weight = weight_of(bags, k, shared);
      const auto w = hn::Set(d, weight);
      std::size_t j = 0;
      for (; j + lanes <= dim; j += lanes) {
        hn::StoreU(hn::MulAdd(w, hn::LoadU(d, g + j), hn::LoadU(d, row + j)), d, row + j);
      }
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
