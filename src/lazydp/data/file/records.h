#pragma once
// Examples in the bytes of a data file, one after the other in memory.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "lazydp/data/file/file_layout.h"

namespace lazydp {

// Begin a record, set its parts, end it; a record that is begun again was not meant.
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
  // Values of multi columns come in the order of the columns.
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
