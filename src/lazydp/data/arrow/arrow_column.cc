#include "lazydp/data/arrow/arrow_column.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "lazydp/base/error.h"
#include "lazydp/data/number.h"

namespace lazydp {
namespace {

using Kind = ArrowType::Kind;

__extension__ using Wide = __int128;

std::size_t buffers_of(Kind kind) {
  switch (kind) {
    case Kind::null: return 0;
    case Kind::fixed_list: return 1;
    case Kind::text:
    case Kind::text_view: return 3;  // of a view, and one for each buffer of text
    default: return 2;
  }
}

void expect(bool holds) {
  if (!holds) throw UserError("the data breaks the Arrow C data interface");
}

template <class Number>
std::string_view digits(Number value, ArrowValues::Scratch& scratch) {
  const auto end = std::to_chars(scratch.data(), scratch.data() + scratch.size(), value).ptr;
  return {scratch.data(), static_cast<std::size_t>(end - scratch.data())};
}

// Whole numbers are written as such, because data frames turn the ids of a column in which one is
// missing into floats; all others as Python writes them, so that a served model finds the same row.
template <class Real>
std::string_view real_digits(Real value, ArrowValues::Scratch& scratch) {
  constexpr Real kExact = 0x1p53;
  constexpr Real kLeastFixed = 1e-4;
  constexpr Real kFirstScientific = 1e16;
  const Real size = std::abs(value);
  if (size < kExact && value == std::floor(value)) {
    return digits(static_cast<std::int64_t>(value), scratch);
  }
  const bool fixed = size >= kLeastFixed && size < kFirstScientific;
  const auto format = fixed ? std::chars_format::fixed : std::chars_format::scientific;
  const auto end =
      std::to_chars(scratch.data(), scratch.data() + scratch.size(), value, format).ptr;
  return {scratch.data(), static_cast<std::size_t>(end - scratch.data())};
}

}  // namespace

ArrowValues::ArrowValues(const ArrowType& type, const ArrowArray& array, std::int64_t first)
    : type_(&type), array_(&array), first_(array.offset + first), valid_(nullptr) {
  const auto buffers = static_cast<std::size_t>(array.n_buffers);
  const std::size_t wanted = buffers_of(type.kind);
  expect(array.length >= 0 && array.offset >= 0);
  expect(type.kind == Kind::text_view ? buffers >= wanted : buffers == wanted);
  if (wanted > 0 && array.null_count != 0) {
    valid_ = static_cast<const std::uint8_t*>(array.buffers[0]);
  }
  for (std::size_t i = 1; i < std::min<std::size_t>(wanted, 2); ++i) {
    expect(array.length == 0 || array.buffers[i] != nullptr);
  }
  if (type.dictionary) {
    expect(array.dictionary != nullptr);
    child_ = std::make_unique<ArrowValues>(type.value[0], *array.dictionary);
  } else if (is_list()) {
    expect(array.n_children == 1);
    child_ = std::make_unique<ArrowValues>(type.value[0], *array.children[0]);
  }
}

bool ArrowValues::is_number() const {
  if (type_->dictionary) return child_->is_number();
  return type_->kind == Kind::boolean || type_->kind == Kind::integer ||
         type_->kind == Kind::real || type_->kind == Kind::time;
}

bool ArrowValues::is_text() const {
  if (type_->dictionary) return child_->is_text();
  return type_->kind == Kind::text || type_->kind == Kind::text_view;
}

bool ArrowValues::is_null(std::int64_t i) const {
  const std::int64_t bit = i + first_;
  if (type_->kind == Kind::null) return true;
  if (valid_ != nullptr && (valid_[bit >> 3] >> (bit & 7) & 1) == 0) return true;
  if (type_->dictionary) return child_->is_null(index(i));
  if (type_->kind != Kind::real) return false;
  return type_->bits == 32 ? std::isnan(at<float>(1, i)) : std::isnan(at<double>(1, i));
}

// Returns a whole number of any width; one of 64 unsigned bits as the same bits.
std::int64_t ArrowValues::integer(std::int64_t i) const {
  switch (type_->bits) {
    case 8: return type_->is_signed ? at<std::int8_t>(1, i) : at<std::uint8_t>(1, i);
    case 16: return type_->is_signed ? at<std::int16_t>(1, i) : at<std::uint16_t>(1, i);
    case 32:
      if (type_->is_signed) return at<std::int32_t>(1, i);
      return at<std::uint32_t>(1, i);
    default: return at<std::int64_t>(1, i);
  }
}

std::int64_t ArrowValues::index(std::int64_t i) const {
  const std::int64_t index = integer(i);
  expect(index >= 0 && index < child_->size());
  return index;
}

double ArrowValues::number(std::int64_t i) const {
  if (type_->dictionary) return child_->number(index(i));
  switch (type_->kind) {
    case Kind::boolean: {
      const std::int64_t bit = i + first_;
      return static_cast<const std::uint8_t*>(array_->buffers[1])[bit >> 3] >> (bit & 7) & 1;
    }
    case Kind::integer: {
      const std::int64_t value = integer(i);
      if (type_->is_signed || type_->bits < 64) return static_cast<double>(value);
      return static_cast<double>(static_cast<std::uint64_t>(value));
    }
    case Kind::real: return type_->bits == 32 ? at<float>(1, i) : at<double>(1, i);
    case Kind::time:
      if (type_->per_second == 0) return static_cast<double>(integer(i) * type_->seconds_each);
      return seconds_of(integer(i), type_->per_second);
    default: throw InternalError("the column has no numbers");
  }
}

// Calls `read` with the whole numbers in memory, typed: once, not for each.
template <class Read>
void ArrowValues::with_integers(const Read& read) const {
  const void* const values = array_->buffers[1];
  const auto as = [&](const auto* typed) { read(typed + first_); };
  const bool is_signed = type_->is_signed;
  switch (type_->bits) {
    case 8:
      return is_signed ? as(static_cast<const std::int8_t*>(values))
                       : as(static_cast<const std::uint8_t*>(values));
    case 16:
      return is_signed ? as(static_cast<const std::int16_t*>(values))
                       : as(static_cast<const std::uint16_t*>(values));
    case 32:
      return is_signed ? as(static_cast<const std::int32_t*>(values))
                       : as(static_cast<const std::uint32_t*>(values));
    default:
      return is_signed ? as(static_cast<const std::int64_t*>(values))
                       : as(static_cast<const std::uint64_t*>(values));
  }
}

template <class Value>
void ArrowValues::mark_nulls(std::int64_t first, Value null, std::span<Value> out) const {
  if (valid_ == nullptr) return;
  for (std::size_t k = 0; k < out.size(); ++k) {
    const std::int64_t bit = first_ + first + static_cast<std::int64_t>(k);
    if ((valid_[bit >> 3] >> (bit & 7) & 1) == 0) out[k] = null;
  }
}

void ArrowValues::numbers(std::int64_t first, std::span<double> out) const {
  const auto copy = [&](const auto* values) {
    for (std::size_t k = 0; k < out.size(); ++k)
      out[k] = static_cast<double>(values[first + static_cast<std::int64_t>(k)]);
  };
  constexpr double kNull = std::numeric_limits<double>::quiet_NaN();
  if (!type_->dictionary && type_->kind == Kind::integer) {
    with_integers(copy);
    mark_nulls(first, kNull, out);
  } else if (type_->kind == Kind::real && type_->bits == 32) {
    copy(static_cast<const float*>(array_->buffers[1]) + first_);
    mark_nulls(first, kNull, out);
  } else if (type_->kind == Kind::real) {
    copy(static_cast<const double*>(array_->buffers[1]) + first_);
    mark_nulls(first, kNull, out);
  } else {
    for (std::size_t k = 0; k < out.size(); ++k) {
      const std::int64_t i = first + static_cast<std::int64_t>(k);
      out[k] = is_null(i) ? kNull : number(i);
    }
  }
}

void ArrowValues::indices(std::int64_t first, std::span<std::int64_t> out) const {
  with_integers([&](const auto* values) {
    for (std::size_t k = 0; k < out.size(); ++k) {
      // + makes an int of a number of eight bits, which is no character.
      out[k] = static_cast<std::int64_t>(+values[first + static_cast<std::int64_t>(k)]);
    }
  });
  mark_nulls(first, std::int64_t{-1}, out);
  for (const std::int64_t index : out) expect(index >= -1 && index < child_->size());
}

std::string_view ArrowValues::text(std::int64_t i, Scratch& scratch) const {
  if (type_->dictionary) return child_->text(index(i), scratch);
  switch (type_->kind) {
    case Kind::text: {
      const std::int64_t begin = offset(i);
      const std::int64_t end = offset(i + 1);
      expect(begin >= 0 && begin <= end);
      return {static_cast<const char*>(array_->buffers[2]) + begin,
              static_cast<std::size_t>(end - begin)};
    }
    case Kind::text_view: return view(i);
    case Kind::integer:
      if (type_->is_signed || type_->bits < 64) return digits(integer(i), scratch);
      return digits(static_cast<std::uint64_t>(integer(i)), scratch);
    case Kind::real:
      if (type_->bits == 32) return real_digits(at<float>(1, i), scratch);
      return real_digits(at<double>(1, i), scratch);
    case Kind::time: return real_digits(number(i), scratch);
    case Kind::boolean: return number(i) == 1.0 ? "true" : "false";
    case Kind::decimal: return decimal_text(i, scratch);
    default: throw InternalError("the column has no texts");
  }
}

// Writes digits from the last to the first.
std::string_view ArrowValues::decimal_text(std::int64_t i, Scratch& scratch) const {
  Wide value = 0;
  std::memcpy(&value, static_cast<const char*>(array_->buffers[1]) + (i + first_) * 16, 16);
  const bool negative = value < 0;
  std::size_t at = scratch.size();
  for (int digit = 0; value != 0 || digit <= type_->scale; ++digit) {
    if (digit == type_->scale && type_->scale > 0) scratch[--at] = '.';
    const int last = static_cast<int>(value % 10);
    scratch[--at] = static_cast<char>('0' + (last < 0 ? -last : last));
    value /= 10;
  }
  if (negative) scratch[--at] = '-';
  return {scratch.data() + at, scratch.size() - at};
}

// A view is 16 bytes: a length, then up to 12 bytes of text, or four of them, a buffer and an
// offset.
std::string_view ArrowValues::view(std::int64_t i) const {
  constexpr std::size_t kView = 16;
  constexpr std::int32_t kShort = 12;
  const char* at =
      static_cast<const char*>(array_->buffers[1]) + static_cast<std::size_t>(i + first_) * kView;
  std::array<std::int32_t, 4> parts{};
  std::memcpy(parts.data(), at, kView);
  expect(parts[0] >= 0);
  const auto length = static_cast<std::size_t>(parts[0]);
  if (parts[0] <= kShort) return {at + sizeof(std::int32_t), length};
  expect(parts[2] >= 0 && parts[2] < array_->n_buffers - 3 && parts[3] >= 0);
  return {static_cast<const char*>(array_->buffers[2 + parts[2]]) + parts[3], length};
}

std::int64_t ArrowValues::offset(std::int64_t i) const {
  return type_->bits == 32 ? at<std::int32_t>(1, i) : at<std::int64_t>(1, i);
}

ArrowValues::Range ArrowValues::list(std::int64_t i) const {
  if (type_->kind == Kind::fixed_list) {
    const std::int64_t begin = (i + first_) * type_->width;
    return {begin, begin + type_->width};
  }
  const Range range{offset(i), offset(i + 1)};
  expect(range.begin >= 0 && range.begin <= range.end && range.end <= child_->size());
  return range;
}

}  // namespace lazydp
