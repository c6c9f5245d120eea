#pragma once
// A data set in a data file: memory-mapped, so that it may be larger than memory.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lazydp/base/io/mapped_file.h"
#include "lazydp/base/memory.h"
#include "lazydp/data/dataset.h"
#include "lazydp/data/file/file_layout.h"
#include "lazydp/data/schema.h"

namespace lazydp {

// Reads a file that is not trusted. Header, schema and directory are checked when it is opened, a
// page when it is first read: checksum, sizes, labels, the range of every row. A failed check is an
// IoError that names the file and the page; a file that is no data file, a UserError. The file must
// not change while it is open; rows are checked again as they are copied, so that even then no row
// out of range gets out. Several threads may read at once.
class DataFile final : public Dataset {
 public:
  // If the file is larger than `memory`, batches are prefetched before they are read.
  explicit DataFile(const std::string& path, std::uint64_t memory = available_memory());

  std::uint64_t size() const override { return header_.examples; }
  // A file without dense columns has one feature that is always 1, so that models have an input.
  std::size_t dense_features() const override { return std::max<std::size_t>(1, layout_.dense); }
  std::vector<RowId> table_rows() const override;
  void read(std::span<const ExampleId> examples, Batch& batch) const override;

  // Returns how many places the file has, with those at which no example is: where lines stood that
  // were left out when it was made.
  std::uint64_t places() const { return header_.examples + holes_.size(); }

  // Returns the place of an example; and how many examples stand before a place. What stands at
  // other places changes neither.
  std::uint64_t place_of(ExampleId example) const;
  ExampleId examples_before(std::uint64_t place) const;

  // Returns the hash of this example's value in key column `key`, or 0 if it has no value.
  std::uint64_t key_of(ExampleId example, std::size_t key) const;

  // Checks all pages, in parallel.
  void check_all_pages() const;

  const Schema& schema() const { return schema_; }
  const FileHeader& header() const { return header_; }
  const std::string& path() const { return file_.path(); }
  std::uint64_t bytes() const { return file_.bytes().size(); }

 private:
  void read_header();
  std::uint64_t directory_pages() const;  // without those of holes
  void read_directory();
  void read_holes();
  std::vector<std::uint64_t> read_numbers(std::uint64_t first_page, std::uint64_t end_page) const;
  std::span<const std::byte> page(std::uint64_t number) const;
  std::uint64_t page_of(ExampleId example) const;
  void check_page(std::uint64_t number) const;
  void check_record(std::span<const std::byte> record, std::uint64_t page_number) const;
  const std::byte* find(ExampleId example) const;
  void prefetch(std::span<const ExampleId> examples) const;
  static std::vector<const std::byte*>& scratch();
  [[noreturn]] void damaged(const std::string& what) const;

  MappedFile file_;
  bool larger_than_memory_ = false;
  FileHeader header_;
  Schema schema_;
  RecordLayout layout_{Schema{}};
  const std::byte* pages_ = nullptr;
  std::uint32_t per_page_ = 0;            // where all records have the same size
  std::vector<std::uint64_t> directory_;  // elsewhere: first example of each page
  std::vector<std::uint64_t> holes_;      // ascending
  std::unique_ptr<std::atomic<bool>[]> checked_;
};

// Returns the schema in a file: TOML, or a data file that was converted with it. Throws UserError
// for a file that is neither, IoError for one that cannot be read.
Schema read_schema(const std::string& path);

}  // namespace lazydp
