#pragma once
// Writes a data file, page by page.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lazydp/base/io/atomic_file.h"
#include "lazydp/data/file/file_layout.h"

namespace lazydp {

// Holds a few pages in memory, 8 bytes a page where records differ in size, and 8 bytes a hole. The
// file appears at commit().
class DataFileWriter {
 public:
  // `page_bytes` is a power of two that is large enough for at least one record.
  DataFileWriter(const std::string& path, const Schema& schema, std::uint32_t page_bytes);

  // Throws IoError when the disk fails.
  void append(const Records& records);

  // Leaves a hole at a place of the file, where a line stood that is no example. Places ascend, and
  // count examples and holes alike.
  void leave_hole(std::uint64_t place) { holes_.push_back(place); }
  void commit();

  std::uint64_t examples() const { return header_.examples; }
  std::uint64_t positives() const { return header_.positives; }
  std::uint64_t file_bytes() const { return file_.size(); }

  // Returns the size of pages that suits a log of such records.
  static std::uint32_t usual_page_bytes(const RecordLayout& layout);

  // Returns the size of the longest record that fits into a page.
  static std::size_t longest_record(const RecordLayout& layout, std::uint32_t page_bytes);

 private:
  void append(std::span<const std::byte> record);
  void end_page();
  void write_page(std::uint32_t count);
  void write_numbers(const std::vector<std::uint64_t>& numbers);
  void flush();

  RecordLayout layout_;
  std::string schema_;
  FileHeader header_;
  AtomicFile file_;

  std::size_t capacity_;                // bytes of records and offsets in a page
  std::vector<std::byte> records_;      // records of the open page
  std::vector<std::uint32_t> offsets_;  // ends of its records, from the start of the first
  std::vector<std::uint64_t> directory_;
  std::vector<std::uint64_t> holes_;
  std::vector<std::byte> page_;
  std::vector<std::byte> pending_;  // pages not written yet
};

}  // namespace lazydp
