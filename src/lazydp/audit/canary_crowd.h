#pragma once
// A data set with many canaries added to it, each with rows of its own.

#include <cstdint>
#include <vector>

#include "lazydp/data/dataset.h"
#include "lazydp/model/shape.h"

namespace lazydp {

// The shape of the same model with a row more in each table for every canary.
ModelShape with_canary_rows(ModelShape shape, std::uint64_t canaries);

// The examples of `base`, then those canaries that are in. Canary i has one row in every table,
// number i after the rows of `shape`, which no other example uses, and names it many times over: so
// what it may change at all it changes there. `base` outlives it; its ids fit `shape`.
class CanaryCrowd final : public Dataset {
 public:
  // `in` says which canaries are. `base` null: the canaries alone.
  CanaryCrowd(const Dataset* base, const ModelShape& shape, const std::vector<bool>& in);

  std::uint64_t size() const override { return others_ + present_.size(); }
  std::size_t dense_features() const override { return features_; }
  std::vector<RowId> table_rows() const override { return rows_; }
  // `examples` ascend, as those of a Poisson sample do.
  void read(std::span<const ExampleId> examples, Batch& batch) const override;

 private:
  const Dataset* base_;
  std::uint64_t others_;
  std::size_t features_;
  std::vector<RowId> first_rows_;  // of the canaries, in each table
  std::vector<RowId> rows_;
  std::vector<std::uint64_t> present_;
};

}  // namespace lazydp
