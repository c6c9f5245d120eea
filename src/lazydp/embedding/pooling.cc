#include "lazydp/embedding/pooling.h"

#include <cstddef>

#include "lazydp/base/parallel.h"
#include "lazydp/kernels/rows.h"

namespace lazydp {
namespace {

BagList bag_list(const Bags& bags, Pooling mode, std::size_t begin, std::size_t end) {
  return {.ids = bags.ids.data(),
          .offsets = bags.offsets.data() + begin,
          .weights = bags.weights.empty() ? nullptr : bags.weights.data(),
          .bags = end - begin,
          .mean = mode == Pooling::mean};
}

}  // namespace

void pool(const Table& table, const Bags& bags, Pooling mode, MatrixView pooled) {
  constexpr std::size_t kBags = 128;
  parallel_blocks(bags.size(), kBags, [&](std::size_t begin, std::size_t end) {
    pool(table, bags, mode, begin, end, pooled);
  });
}

void pool(const Table& table, const Bags& bags, Pooling mode, std::size_t begin, std::size_t end,
          MatrixView pooled) {
  pool_rows(table.row(0).data(), table.dim(), bag_list(bags, mode, begin, end),
            pooled.row(begin).data(), pooled.stride);
}

std::uint64_t add_gradient(Table& table, const TableGradient& gradient, float scale, Share share) {
  const Bags& bags = *gradient.bags;
  return add_to_rows(table.row(0).data(), table.dim(),
                     bag_list(bags, gradient.mode, 0, bags.size()), gradient.pooled.data,
                     gradient.pooled.stride, scale, share.index, share.count);
}

}  // namespace lazydp
