#pragma once
// In place of data where none is read: settling and releasing need its public size at most.

#include "lazydp/base/error.h"
#include "lazydp/data/dataset.h"

namespace lazydp {

class AbsentData : public Dataset {
 public:
  explicit AbsentData(std::uint64_t examples) : examples_(examples) {}

  std::uint64_t size() const override { return examples_; }
  std::size_t dense_features() const override { return 0; }
  std::vector<RowId> table_rows() const override { return {}; }
  void read(std::span<const ExampleId> /*examples*/, Batch& /*batch*/) const override {
    throw InternalError("data was read where there is none");
  }

 private:
  std::uint64_t examples_;
};

}  // namespace lazydp
