#pragma once
// Reads the values of a column that came through the Arrow C data interface.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lazydp/data/arrow/arrow_abi.h"

namespace lazydp {

// The type of a column, as far as it is read.
struct ArrowType {
  enum class Kind : std::uint8_t {
    null,
    boolean,
    integer,     // of `bits` bits; `is_signed`
    real,        // of `bits` bits
    time,        // of `bits` bits, in 1 / `per_second` s, or if that is 0 in `seconds_each` s
    decimal,     // of 128 bits, with `scale` digits behind the point
    text,        // with offsets of `bits` bits
    text_view,   // short text in place, longer text elsewhere
    list,        // with offsets of `bits` bits
    fixed_list,  // of `width` values each
  };
  Kind kind = Kind::null;
  int bits = 0;
  bool is_signed = true;
  std::int64_t per_second = 0;
  std::int64_t seconds_each = 0;
  int scale = 0;
  std::int64_t width = 0;
  std::vector<ArrowType> value = {};  // one: a list's values, or those of a dictionary
  bool dictionary = false;            // this is an index into `value`

  // Returns the type that a schema says. Throws UserError, naming the column, for a type that is no
  // value, or list of values, of an example.
  static ArrowType of(const ArrowSchema& schema, const std::string& column);
};

// Values of a type in memory that a batch owns; the batch must outlive it. Threads may share it.
class ArrowValues {
 public:
  // `first` is the number of the first value, on top of the array's own offset. Throws UserError if
  // the array is not of the type.
  ArrowValues(const ArrowType& type, const ArrowArray& array, std::int64_t first = 0);

  bool is_list() const {
    return type_->kind == ArrowType::Kind::list || type_->kind == ArrowType::Kind::fixed_list;
  }
  // Returns whether a value may be read as a number without its text being made.
  bool is_number() const;

  // Returns whether values are text already, so that text() needs no scratch.
  bool is_text() const;

  // A NaN is null, as pandas has it.
  bool is_null(std::int64_t i) const;

  // Returns value i, not null, as a number; a time is seconds since 1970, true is 1.
  double number(std::int64_t i) const;

  // Reads values from number `first` on as number() does, in one pass; a null is NaN.
  void numbers(std::int64_t first, std::span<double> out) const;

  // Returns value i, not null and no list, as text: in `scratch`, unless it is text.
  using Scratch = std::array<char, 64>;
  std::string_view text(std::int64_t i, Scratch& scratch) const;

  // The values of list i: numbers `begin` to `end` of elements().
  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  Range list(std::int64_t i) const;
  const ArrowValues& elements() const { return *child_; }

  // A dictionary's values, and which of them value i, not null, is; only if is_dictionary().
  bool is_dictionary() const { return type_->dictionary; }
  const ArrowValues& dictionary() const { return *child_; }
  std::int64_t index(std::int64_t i) const;
  // The same of values from number `first` on, in one pass; a null is -1.
  void indices(std::int64_t first, std::span<std::int64_t> out) const;
  std::int64_t size() const { return array_->length; }

 private:
  template <class Value>
  Value at(std::size_t buffer, std::int64_t i) const {
    return static_cast<const Value*>(array_->buffers[buffer])[i + first_];
  }
  std::int64_t integer(std::int64_t i) const;
  template <class Read>
  void with_integers(const Read& read) const;
  template <class Value>
  void mark_nulls(std::int64_t first, Value null, std::span<Value> out) const;
  std::string_view decimal_text(std::int64_t i, Scratch& scratch) const;
  std::string_view view(std::int64_t i) const;
  std::int64_t offset(std::int64_t i) const;

  const ArrowType* type_;
  const ArrowArray* array_;
  std::int64_t first_;
  const std::uint8_t* valid_;  // null: all values are
  std::unique_ptr<ArrowValues> child_;
};

}  // namespace lazydp
