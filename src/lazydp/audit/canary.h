#pragma once
// A tiny data set in which one example, the canary, stands out as far as an example can.

#include <cstdint>
#include <vector>

#include "lazydp/data/dataset.h"
#include "lazydp/model/shape.h"

namespace lazydp {

enum class Canary : std::uint8_t {
  rare,      // its rows are in nobody else's bags
  repeated,  // the same, and its bags name their row many times over
  person,    // several examples with the same rare ids, which are one unit
};

enum class Presence : std::uint8_t { without, with };

inline constexpr std::uint64_t kCanaryUnits = 5;  // with the canary: what is declared public

ModelShape canary_shape();
RowId canary_row();  // the same in every table

class CanaryData final : public Dataset {
 public:
  CanaryData(Canary canary, Presence presence);

  std::uint64_t size() const override { return examples_.size(); }
  std::size_t dense_features() const override;
  std::vector<RowId> table_rows() const override;
  void read(std::span<const ExampleId> ids, Batch& batch) const override;

  // Which unit each example belongs to; 0: it is one of its own.
  std::vector<std::uint64_t> unit_keys() const;

 private:
  struct Example {
    std::vector<float> dense;
    float label = 0.0f;
    std::vector<RowId> bag;  // of every table
    std::uint64_t unit = 0;
  };
  std::vector<Example> examples_;
};

}  // namespace lazydp
