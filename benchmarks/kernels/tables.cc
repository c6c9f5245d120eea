#include "benchmarks/kernels/tables.h"

#include <algorithm>

#include "lazydp/data/synthetic/access_law.h"
#include "lazydp/random/stream.h"

namespace lazydp::bench {
namespace {

constexpr std::size_t kBatches = 8;

Bags made_up_bags(const Shape& shape, RowId rows, TableId table, Step batch) {
  RandomStream random(Seed::fixed(7), Purpose::public_data, table, batch);
  const Scatter scatter(static_cast<std::uint64_t>(rows));
  const Zipf zipf(static_cast<std::uint64_t>(rows), std::max(shape.skew, 0.5));
  Bags bags;
  for (std::size_t b = 0; b < shape.bags; ++b) {
    for (std::size_t i = 0; i < shape.pooling; ++i) {
      bags.ids.push_back(shape.skew > 0.0
                             ? scatter(zipf.draw(random))
                             : static_cast<RowId>(random.below(static_cast<std::uint64_t>(rows))));
    }
    bags.offsets.push_back(bags.ids.size());
  }
  return bags;
}

}  // namespace

Workload::Workload(const Shape& shape, std::size_t table_bytes) {
  const auto rows = static_cast<RowId>(table_bytes / shape.tables / (shape.dim * sizeof(float)));
  batches_.resize(kBatches);
  pooled_.resize(shape.tables);
  for (std::size_t k = 0; k < shape.tables; ++k) {
    const auto id = static_cast<TableId>(k);
    tables_.emplace_back(id, rows, shape.dim);
    pooled_[k].reshape(shape.bags, shape.dim);
    pooled_[k].fill(1e-6f);
    pooled_views_.push_back(pooled_[k].view());
    for (std::size_t b = 0; b < kBatches; ++b) {
      batches_[b].push_back(made_up_bags(shape, rows, id, static_cast<Step>(b)));
    }
  }
}

std::span<const Bags> Workload::next_bags() {
  next_ = (next_ + 1) % batches_.size();
  return batches_[next_];
}

std::span<const TableGradient> Workload::gradients(std::span<const Bags> bags) {
  gradients_.clear();
  for (std::size_t k = 0; k < bags.size(); ++k) {
    gradients_.push_back({&bags[k], Pooling::sum, pooled_views_[k]});
  }
  return gradients_;
}

}  // namespace lazydp::bench
