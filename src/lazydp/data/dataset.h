#pragma once
// The interface of a data set: examples by number.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/types.h"
#include "lazydp/data/batch.h"

namespace lazydp {

using ExampleId = std::uint64_t;

// Returns the group of an example, 0 if it has none.
using GroupOf = std::function<std::uint64_t(ExampleId)>;

class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual std::uint64_t size() const = 0;          // number of examples
  virtual std::size_t dense_features() const = 0;  // columns of Batch::dense
  virtual std::vector<RowId> table_rows()
      const = 0;  // every id of table k is below table_rows()[k]

  // Makes `batch` hold these examples in this order. Reuses the memory of `batch`. Ids are in
  // range: a data set checks what it reads, so that its readers need not.
  virtual void read(std::span<const ExampleId> examples, Batch& batch) const = 0;
};

// Stands in for data that is never read: settling and releasing need at most its public size.
class UnreadableDataset : public Dataset {
 public:
  explicit UnreadableDataset(std::uint64_t examples) : examples_(examples) {}

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
