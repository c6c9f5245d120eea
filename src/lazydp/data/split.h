#pragma once
// Splits a data file into training, validation and test parts.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "lazydp/data/dataset.h"
#include "lazydp/data/file/data_file.h"

namespace lazydp {

struct SplitShares {
  double validation = 0.0;  // share of all examples; the rest after both is trained on
  double test = 0.1;
};

// Maps an example that is identified only by its position to [0, 1), by a public hash that never
// changes.
double place_of_position(ExampleId position);

// The interval [from, to).
struct Places {
  double from = 0.0;
  double to = 1.0;
  bool contain(double place) const { return place >= from && place < to; }
};

// A part of a file's examples, renumbered from 0.
class Part final : public Dataset {
 public:
  // Takes the examples whose positions, which are their places in the file, map into `places`.
  // Memory: an eighth of a byte for each example of the file.
  Part(std::shared_ptr<const DataFile> file, const Places& places);
  // Takes these examples. Memory: four bytes each; a file that is split by a key has fewer than
  // 2^32 examples.
  Part(std::shared_ptr<const DataFile> file, std::vector<std::uint32_t> members);

  std::uint64_t size() const override { return size_; }
  std::size_t dense_features() const override { return file_->dense_features(); }
  std::vector<RowId> table_rows() const override { return file_->table_rows(); }
  void read(std::span<const ExampleId> examples, Batch& batch) const override;

  // Returns the number in the file of this part's example i.
  ExampleId in_file(ExampleId i) const {
    return members_.empty() ? with_place(i) : ExampleId{members_[i]};
  }
  const DataFile& file() const { return *file_; }

  // Returns how many of the part's examples stand before a place of the file.
  ExampleId before(std::uint64_t place) const;

 private:
  ExampleId with_place(ExampleId i) const;
  bool takes(ExampleId number) const;

  std::shared_ptr<const DataFile> file_;
  std::uint64_t size_ = 0;
  std::vector<std::uint32_t> members_;
  Places places_;                      // if it has no members; all of [0, 1) if `before_` is empty
  std::vector<std::uint64_t> before_;  // by block of positions: examples of the part before it
};

struct Split {
  std::unique_ptr<Part> train;
  std::unique_ptr<Part> validation;  // null if its share is 0
  std::unique_ptr<Part> test;        // null likewise
};

// Splits by the hash of an example's position in the file. The part of an example depends on its
// position and on the shares, and on nothing else: an example that is blanked, or added at the end,
// moves no other one, so that data sets which differ in one example differ in one after the split.
// The size of a part follows from the size of the file. Throws UserError if nothing is left to
// train on.
Split split_by_position(const std::shared_ptr<const DataFile>& file, const SplitShares& shares);

// Splits by the hash of a key column: examples with the same key are all in the same part, whatever
// else the file holds. An example without a key is placed on its own.
Split split_by_key(const std::shared_ptr<const DataFile>& file, std::size_t key,
                   const SplitShares& shares);

}  // namespace lazydp
