#include "lazydp/embedding/pooling.h"

#include <cstddef>
#include <vector>

#include "lazydp/base/parallel.h"
#include "lazydp/kernels/rows.h"

namespace lazydp {
namespace {

// Where in the table's memory the rows of bags [begin, end) lie: their ids, if rows are in order.
// As the offsets of bags have it; what is returned is valid until this thread asks again.
const RowId* places_of(const Table& table, const Bags& bags, std::size_t begin, std::size_t end) {
  if (table.in_order() || begin == end) return bags.ids.data();
  thread_local std::vector<RowId> places;
  places.resize(bags.offsets[end]);
  for (std::size_t i = bags.offsets[begin]; i < bags.offsets[end]; ++i) {
    places[i] = static_cast<RowId>(table.place(bags.ids[i]));
  }
  return places.data();
}

BagList bag_list(const Table& table, const Bags& bags, Pooling mode, std::size_t begin,
                 std::size_t end) {
  return {.ids = places_of(table, bags, begin, end),
          .offsets = bags.offsets.data() + begin,
          .weights = bags.weights.empty() ? nullptr : bags.weights.data(),
          .bags = end - begin,
          .mean = mode == Pooling::mean};
}

}  // namespace

void pool(const Table& table, const Bags& bags, Pooling mode, MatrixView pooled) {
  constexpr std::size_t kBags = 128;
  parallel_blocks(bags.size(), kBags, [&](std::size_t begin, std::size_t end) {
    pool(table, bags, mode, begin, end, pooled.rows_from(begin, end - begin));
  });
}

void pool(const Table& table, const Bags& bags, Pooling mode, std::size_t begin, std::size_t end,
          MatrixView pooled) {
  pool_rows(table.weights(), table.dim(), bag_list(table, bags, mode, begin, end), pooled.data,
            pooled.stride);
}

std::uint64_t add_gradient(Table& table, const TableGradient& gradient, float scale, Share share) {
  const Bags& bags = *gradient.bags;
  return add_to_rows(table.weights(), table.dim(),
                     bag_list(table, bags, gradient.mode, 0, bags.size()), gradient.pooled.data,
                     gradient.pooled.stride, scale, share.index, share.count);
}

}  // namespace lazydp
