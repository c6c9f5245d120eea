#pragma once
// Which examples of a data file are trained on, which are looked at while training, and which at
// the end.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "lazydp/data/data_file.h"
#include "lazydp/data/dataset.h"

namespace lazydp {

struct SplitShares {
  double validation = 0.0;  // of all examples; the rest after both is trained on
  double test = 0.1;
};

// Some examples of a file, by number.
class Part final : public Dataset {
 public:
  // Examples first ... first + count - 1.
  Part(std::shared_ptr<const DataFile> file, ExampleId first, std::uint64_t count);
  // These. Four bytes each: a file that is split by a key has fewer than 2^32 examples.
  Part(std::shared_ptr<const DataFile> file, std::vector<std::uint32_t> members);

  std::uint64_t size() const override { return size_; }
  std::size_t dense_features() const override { return file_->dense_features(); }
  std::vector<RowId> table_rows() const override { return file_->table_rows(); }
  void read(std::span<const ExampleId> examples, Batch& batch) const override;

  // The number in the file of this part's example i.
  ExampleId in_file(ExampleId i) const { return members_.empty() ? first_ + i : members_[i]; }
  const DataFile& file() const { return *file_; }

 private:
  std::shared_ptr<const DataFile> file_;
  ExampleId first_ = 0;
  std::uint64_t size_ = 0;
  std::vector<std::uint32_t> members_;
};

struct Split {
  std::unique_ptr<Part> train;
  std::unique_ptr<Part> validation;  // null if its share is 0
  std::unique_ptr<Part> test;        // null likewise
};

// By position: the last examples are the test part, those before them the validation part.
// UserError if nothing is left to train on.
Split split_by_position(const std::shared_ptr<const DataFile>& file, const SplitShares& shares);

// By the hash of a key column: examples with the same key are all in the same part, whatever else
// the file holds. An example without a key stands for itself.
Split split_by_key(const std::shared_ptr<const DataFile>& file, std::size_t key,
                   const SplitShares& shares);

}  // namespace lazydp
