#pragma once
// The layout of a data file; all numbers are little-endian.
//
//   header, padded to whole pages   FileHeader, then the schema as TOML
//   pages of examples               PageHeader, then records
//   pages of the directory          PageHeader, then the first example of each page; only where
//                                   records differ in size
//   pages of holes                  PageHeader, then the places at which no example is, ascending;
//                                   only in version 2, which is that of files with holes
//
// A place is where an example, or a line that is none, stood in what the file was made of.
//
// A record: label f32, dense features f32, one u32 row for each categorical column, a u64 hash for
// each key column, one u32 count for each multi column, then the rows of these, u32. Where records
// differ in size, count + 1 u32 offsets (from the first byte of the page) stand before them.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "lazydp/base/types.h"
#include "lazydp/data/schema.h"

namespace lazydp {

static_assert(std::endian::native == std::endian::little, "data files are little-endian");

inline constexpr std::uint64_t kFileMagic = 0x0a1a5044797a614cu;  // "Lazy", "DP", 0x1a, newline
inline constexpr std::uint32_t kFileVersion = 1;
inline constexpr std::uint32_t kFileVersionWithHoles = 2;
inline constexpr std::uint32_t kMinPageBytes = 4096;
inline constexpr std::uint32_t kMaxPageBytes = std::uint32_t{16} << 20;

struct FileHeader {
  std::uint64_t magic = kFileMagic;
  std::uint32_t version = kFileVersion;
  std::uint32_t page_bytes = kMinPageBytes;
  std::uint64_t examples = 0;
  std::uint64_t positives = 0;
  std::uint64_t pages = 0;            // number of pages of examples
  std::uint64_t directory_pages = 0;  // and of holes
  std::uint64_t schema_bytes = 0;
  std::uint64_t content = 0;   // hash of the checksums of all pages, in order
  std::uint64_t checksum = 0;  // checksum of all fields before it and of the schema
};
static_assert(sizeof(FileHeader) == 72);

struct PageHeader {
  std::uint64_t checksum = 0;  // checksum of the rest of the page and its number
  std::uint32_t count = 0;     // number of examples, of entries of the directory, or of holes
  std::uint32_t zero = 0;
};
static_assert(sizeof(PageHeader) == 16);

// Returns the checksum of a page. `number` counts from the first page of examples, so that swapped
// pages do not match.
std::uint64_t page_checksum(std::span<const std::byte> page, std::uint64_t number);
// Returns a header's `content` after one more page with this checksum.
std::uint64_t add_to_content(std::uint64_t content, std::uint64_t page_checksum);
std::uint64_t header_checksum(const FileHeader& header, std::string_view schema);

template <class Value>
Value load(const std::byte* from) {
  Value value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Returns element i of an array of 32-bit numbers.
inline std::uint32_t word(const std::byte* from, std::size_t i) {
  return load<std::uint32_t>(from + sizeof(std::uint32_t) * i);
}

// The layout of a schema's records.
struct RecordLayout {
  explicit RecordLayout(const Schema& schema);

  // A column with a table: its index among the categorical columns, or among the multi columns.
  struct TableSlot {
    bool multi = false;
    std::size_t place = 0;
    RowId rows = 0;
  };

  std::size_t dense = 0;   // number of features
  std::size_t single = 0;  // number of categorical columns
  std::size_t keys = 0;
  std::size_t multi = 0;
  std::vector<TableSlot> tables;

  std::size_t ids_at() const { return sizeof(float) * (1 + dense); }
  std::size_t keys_at() const { return ids_at() + sizeof(std::uint32_t) * single; }
  std::size_t counts_at() const { return keys_at() + sizeof(std::uint64_t) * keys; }
  std::size_t fixed_bytes() const { return counts_at() + sizeof(std::uint32_t) * multi; }
  bool fixed() const { return multi == 0; }  // all records have the same size

  // Returns the number of records in a page of this size; only if all have the same size.
  std::uint32_t per_page(std::uint32_t page_bytes) const {
    return static_cast<std::uint32_t>((page_bytes - sizeof(PageHeader)) / fixed_bytes());
  }
  // Returns a page size that holds many examples with `values` values in multi columns each.
  std::uint32_t good_page_bytes(std::size_t values) const;
};

// Examples in the format of a data file, one after the other in memory. The caller begins a record,
// sets its parts and ends it; beginning a record again discards one that was not ended.
class Records {
 public:
  explicit Records(const RecordLayout& layout) : layout_(layout), fixed_(layout.fixed_bytes()) {}

  void clear() {
    bytes_.clear();
    ends_.clear();
  }

  void begin() {
    start_ = ends_.empty() ? 0 : ends_.back();
    bytes_.resize(start_);
    bytes_.resize(start_ + fixed_);
  }
  void set_label(float value) { store(0, value); }
  void set_dense(std::size_t i, float value) { store(sizeof(float) * (1 + i), value); }
  void set_id(std::size_t place, std::uint32_t row) {
    store(layout_.ids_at() + sizeof(row) * place, row);
  }
  void set_key(std::size_t i, std::uint64_t key) {
    store(layout_.keys_at() + sizeof(key) * i, key);
  }
  // Values of multi columns must be added in the order of the columns.
  void add_value(std::size_t place, std::uint32_t row) {
    const std::size_t at = layout_.counts_at() + sizeof(std::uint32_t) * place;
    store(at, load<std::uint32_t>(bytes_.data() + start_ + at) + 1);
    const std::size_t end = bytes_.size();
    bytes_.resize(end + sizeof(row));
    std::memcpy(bytes_.data() + end, &row, sizeof(row));
  }
  std::size_t bytes_of_open() const { return bytes_.size() - start_; }
  void end() { ends_.push_back(bytes_.size()); }

  std::size_t size() const { return ends_.size(); }
  std::span<const std::byte> operator[](std::size_t i) const {
    const std::size_t from = i == 0 ? 0 : ends_[i - 1];
    return {bytes_.data() + from, ends_[i] - from};
  }

 private:
  template <class Value>
  void store(std::size_t offset, Value value) {
    std::memcpy(bytes_.data() + start_ + offset, &value, sizeof(value));
  }

  RecordLayout layout_;
  std::size_t fixed_;
  std::vector<std::byte> bytes_;
  std::vector<std::size_t> ends_;
  std::size_t start_ = 0;
};

}  // namespace lazydp
