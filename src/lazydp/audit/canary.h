#pragma once
// A tiny data set in which one example, the canary, stands out as far as an example can; and data
// sets with many canaries.

#include <cstdint>
#include <vector>

#include "lazydp/data/dataset.h"
#include "lazydp/model/shape.h"

namespace lazydp {

enum class Canary : std::uint8_t {
  rare,      // its rows are in no other example's bags
  repeated,  // as `rare`, and its bags name their row many times over
  person,    // several examples with the same rare ids, which are one unit
};

enum class Presence : std::uint8_t { without, with };

// Includes the canary: the size that is declared public.
inline constexpr std::uint64_t kCanaryUnits = 5;

ModelShape canary_shape();
RowId canary_row();  // equal in every table

class CanaryData final : public Dataset {
 public:
  CanaryData(Canary canary, Presence presence);

  std::uint64_t size() const override { return examples_.size(); }
  std::size_t dense_features() const override;
  std::vector<RowId> table_rows() const override;
  void read(std::span<const ExampleId> ids, Batch& batch) const override;

  // Returns the unit of each example; 0: the example is a unit of its own.
  std::vector<std::uint64_t> unit_keys() const;

 private:
  struct Example {
    std::vector<float> dense;
    float label = 0.0f;
    std::vector<RowId> bag;  // in every table
    std::uint64_t unit = 0;
  };
  std::vector<Example> examples_;
};

// Returns the shape of the same model with one more row in each table for every canary.
ModelShape with_canary_rows(ModelShape shape, std::uint64_t canaries);

// The examples of `base`, then those canaries that are in. Canary i has one row in every table,
// number i after the rows of `shape`, which no other example uses, and names it many times over:
// almost all of its influence is on these rows. `base` must outlive the crowd; its ids fit `shape`.
class CanaryCrowd final : public Dataset {
 public:
  // `in` says which canaries are in. `base` null: the canaries alone.
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
  std::vector<RowId> first_rows_;  // first row of the canaries, in each table
  std::vector<RowId> rows_;
  std::vector<std::uint64_t> present_;
};

}  // namespace lazydp
