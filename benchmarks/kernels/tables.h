#pragma once
// Gigabytes of tables with made-up rows to ask for, made when first used and shared by benchmarks.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "lazydp/base/matrix.h"
#include "lazydp/data/batch.h"
#include "lazydp/embedding/pooling.h"
#include "lazydp/embedding/table.h"

namespace lazydp::bench {

struct Shape {
  std::size_t tables = 1;
  std::size_t dim = 1;
  std::size_t bags = 1;
  std::size_t pooling = 1;
  double skew = 0.0;  // Zipf exponent; 0: uniform

  double ids() const { return static_cast<double>(tables * bags * pooling); }
};

// Tables of one shape, several batches of ids (so that none stays in a cache), room for pooled
// vectors, and gradients of them.
class Workload {
 public:
  Workload(const Shape& shape, std::size_t table_bytes);

  // The next batch of ids, one entry a table.
  std::span<const Bags> next_bags();
  std::span<Table> tables() { return tables_; }
  std::span<const MatrixView> pooled() { return pooled_views_; }
  // The gradient of `bags`.
  std::span<const TableGradient> gradients(std::span<const Bags> bags);

 private:
  std::vector<Table> tables_;
  std::vector<std::vector<Bags>> batches_;
  std::size_t next_ = 0;
  std::vector<Matrix> pooled_;
  std::vector<MatrixView> pooled_views_;
  std::vector<TableGradient> gradients_;
};

}  // namespace lazydp::bench
