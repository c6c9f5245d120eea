#include "lazydp/embedding/pooling.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/kernels/rows.h"

namespace lazydp {

namespace {

// Returns the slots of the rows of bags [begin, end) in the table's memory, indexed by the bags'
// offsets: their ids, if rows are in order. The result is valid until this thread calls again.
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
  pool(std::span(&table, 1), std::span(&bags, 1), mode, std::span(&pooled, 1));
}

void pool(std::span<const Table> tables, std::span<const Bags> bags, Pooling mode,
          std::span<const MatrixView> pooled) {
  constexpr std::size_t kFloats = std::size_t{1} << 15;  // of a task, about: it outweighs its start
  std::size_t most = 0;  // a rank may receive more bags for one table than for another
  std::size_t floats = 0;
  for (std::size_t k = 0; k < tables.size(); ++k) {
    most = std::max(most, bags[k].size());
    floats += bags[k].ids.size() * tables[k].dim();
  }
  const std::size_t tasks = 1 + floats / kFloats;
  const std::size_t block = std::max<std::size_t>(16, 1 + most * tables.size() / tasks);
  const std::size_t blocks = (most + block - 1) / block;
  parallel_for(tables.size() * blocks, [&](std::size_t task) {
    const std::size_t k = task / blocks;
    const std::size_t begin = task % blocks * block;
    const std::size_t end = std::min(begin + block, bags[k].size());
    if (begin >= end) return;
    pool(tables[k], bags[k], mode, begin, end, pooled[k].rows_from(begin, end - begin));
  });
}

void pool(const Table& table, const Bags& bags, Pooling mode, std::size_t begin, std::size_t end,
          MatrixView pooled) {
  pool_rows(table.weights(), table.dim(), bag_list(table, bags, mode, begin, end), pooled.data,
            pooled.stride);
}

std::uint64_t add_gradient(Table& table, const TableGradient& gradient, float scale, Share share) {
  const Bags& bags = *gradient.bags;
  check(bags.size() == 0 || gradient.pooled.cols == table.dim(),
        "a gradient is as wide as its table");
  return add_to_rows(table.weights(), table.dim(),
                     bag_list(table, bags, gradient.mode, 0, bags.size()), gradient.pooled.data,
                     gradient.pooled.stride, scale, share.index, share.count);
}

}  // namespace lazydp
