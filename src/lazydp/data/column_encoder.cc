#include "lazydp/data/column_encoder.h"

#define XXH_INLINE_ALL  // values are a few bytes: a call would cost as much as the hash
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "lazydp/base/error.h"

namespace lazydp {

std::uint64_t column_seed(std::string_view column, std::uint64_t salt) {
  return XXH3_64bits_withSeed(column.data(), column.size(), salt);
}

std::uint64_t hash_value(std::string_view value, std::uint64_t seed) {
  return XXH3_64bits_withSeed(value.data(), value.size(), seed);
}

std::uint64_t hash_value(std::uint64_t value, std::uint64_t seed) {
  return XXH3_64bits_withSeed(&value, sizeof value, seed);
}

// Uniform to within rows / 2^64, and without a division.
std::uint32_t hashed_row(std::uint64_t hash, std::uint64_t rows) {
  __extension__ using Wide = unsigned __int128;
  if (rows == 1) return 0;
  return 1 + static_cast<std::uint32_t>((Wide{hash} * (rows - 1)) >> 64);
}

std::uint64_t hash_key(std::string_view value, std::uint64_t seed) {
  constexpr std::uint64_t kKeys = 0x9e3779b97f4a7c15u;  // separates keys from the hash to rows
  return std::max<std::uint64_t>(1, XXH3_64bits_withSeed(value.data(), value.size(), seed ^ kKeys));
}

namespace {

// Returns log(1 + x) in double; log is faster than log1p, and as good where 1 + x loses nothing
// that matters.
double log_of_one_and(double x) {
  return x >= 1.0 ? std::log(1.0 + x) : std::log1p(x);
}

// -1: not a hexadecimal digit.
constexpr std::array<std::int8_t, 256> kHexDigits = [] {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (const std::string_view digits : {"0123456789abcdef", "0123456789ABCDEF"}) {
    for (std::size_t i = 0; i < digits.size(); ++i) {
      values[static_cast<unsigned char>(digits[i])] = static_cast<std::int8_t>(i);
    }
  }
  return values;
}();

// Parses at most 16 digits.
bool parse_hexadecimal(std::string_view text, std::uint64_t& out) {
  if (text.empty() || text.size() > 16) return false;
  int signs = 0;
  out = 0;
  for (const char c : text) {
    const std::int8_t digit = kHexDigits[static_cast<unsigned char>(c)];
    signs |= digit;
    out = out << 4 | static_cast<std::uint64_t>(digit & 15);
  }
  return signs >= 0;
}

// Parses all of `text`.
template <class Number>
std::errc whole(std::string_view text, Number& out) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out);
  if (error != std::errc()) return error;
  return stop == end ? std::errc() : std::errc::invalid_argument;
}

std::string_view without_plus(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

}  // namespace

std::string shown(std::string_view value) {
  constexpr std::size_t kMost = 40;
  std::string text(value.substr(0, kMost));
  std::ranges::replace_if(
      text, [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; }, '?');
  return "'" + text + (value.size() > kMost ? "...'" : "'");
}

ColumnEncoder::ColumnEncoder(const Schema& schema, const Column& column)
    : schema_(&schema),
      column_(&column),
      seed_(column_seed(column.name, schema.salt)),
      empty_is_missing_(is_listed("")),
      others_missing_(schema.missing.size() > (empty_is_missing_ ? 1u : 0u)) {}

std::vector<ColumnEncoder> ColumnEncoder::all(const Schema& schema) {
  std::vector<ColumnEncoder> encoders;
  std::array<std::size_t, 5> places{};
  std::size_t keys = 0;
  std::size_t tables = 0;
  for (const Column& column : schema.columns) {
    ColumnEncoder encoder(schema, column);
    const bool has_table = column.role == Role::categorical || column.role == Role::multi;
    encoder.place_ = places[static_cast<std::size_t>(column.role)]++;
    encoder.key_ = column.key ? keys++ : 0;
    encoder.table_ = has_table ? tables++ : 0;
    encoders.push_back(encoder);
  }
  return encoders;
}

bool ColumnEncoder::encode(std::string_view value, Records& out, std::string& why,
                           std::vector<Lookup>* lookups) const {
  if (column_->key) out.set_key(key_, missing(value) ? 0 : hash_key(value, seed_));
  switch (column_->role) {
    case Role::ignore: return true;
    case Role::label: return encode_label(value, out, why);
    case Role::dense: return encode_dense(value, out, why);
    case Role::categorical: {
      if (missing(value)) return true;  // keeps the initial row 0
      std::uint32_t row = 0;
      if (!find_row(value, row, why, lookups)) return false;
      out.set_id(place_, row);
      return true;
    }
    case Role::multi: return encode_multi(value, out, why, lookups);
  }
  throw InternalError("unknown Role");
}

// Everything else of a record begins as a missing value.
void ColumnEncoder::encode_missing(Records& out) const {
  if (column_->role == Role::multi) out.add_value(place_, 0);
}

bool ColumnEncoder::encode_label(std::string_view value, Records& out, std::string& why) const {
  if (missing(value)) return refuse(value, "there: it is the label", why);
  bool positive = false;
  if (column_->positive_from) {
    double number = 0.0;
    if (whole(without_plus(value), number) != std::errc() || std::isnan(number)) {
      return refuse(value, "a number", why);
    }
    positive = number >= *column_->positive_from;
  } else {
    positive = std::ranges::find(column_->positive, value) != column_->positive.end();
    const auto& negative = column_->negative;
    if (!positive && !negative.empty() && std::ranges::find(negative, value) == negative.end()) {
      return refuse(value, "one of the values that the schema has for the label", why);
    }
  }
  out.set_label(positive ? 1.0f : 0.0f);
  return true;
}

bool ColumnEncoder::encode_dense(std::string_view value, Records& out, std::string& why) const {
  if (missing(value)) return true;  // keeps the initial 0
  double number = 0.0;
  if (column_->integer) {
    std::int64_t integer = 0;
    const std::errc error = whole(without_plus(value), integer);
    if (error == std::errc::result_out_of_range)
      return refuse(value, "a whole number of 64 bits", why);
    if (error != std::errc()) return refuse(value, "a whole number", why);
    number = static_cast<double>(integer);
  } else if (whole(without_plus(value), number) != std::errc() || !std::isfinite(number)) {
    return refuse(value, "a number", why);
  }
  if (column_->transform == Transform::log) number = log_of_one_and(std::max(0.0, number));
  if (std::abs(number) > kLargestDense) {
    return refuse(value, "a number from -1e12 to 1e12, or the column's transform must be log", why);
  }
  out.set_dense(place_, static_cast<float>(number));
  return true;
}

// Skips missing values between others; a field without any value counts as one missing value.
bool ColumnEncoder::encode_multi(std::string_view value, Records& out, std::string& why,
                                 std::vector<Lookup>* lookups) const {
  bool any = false;
  const std::string_view separator = column_->separator;
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find(separator, begin), value.size());
    std::string_view part = value.substr(begin, end - begin);
    begin = end + separator.size();
    if (schema_->trim) {
      part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
      part.remove_suffix(part.size() - (part.find_last_not_of(' ') + 1));
    }
    if (missing(part)) continue;
    std::uint32_t row = 0;
    if (!find_row(part, row, why, lookups)) return false;
    out.add_value(place_, row);
    any = true;
  }
  if (!any) out.add_value(place_, 0);
  return true;
}

bool ColumnEncoder::find_row(std::string_view value, std::uint32_t& row, std::string& why,
                             std::vector<Lookup>* lookups) const {
  std::uint64_t hash = 0;
  if (!find_hash(value, hash, why)) return false;
  if (lookups != nullptr) lookups->push_back({table_, hash});
  const std::vector<std::uint64_t>& vocabulary = column_->vocabulary;
  if (vocabulary.empty()) {
    row = hashed_row(hash, column_->rows);
    return true;
  }
  const auto found = std::ranges::lower_bound(vocabulary, hash);
  const bool known = found != vocabulary.end() && *found == hash;
  row = known ? kFirstVocabularyRow + static_cast<std::uint32_t>(found - vocabulary.begin())
              : kRareRow;
  return true;
}

bool ColumnEncoder::find_hash(std::string_view value, std::uint64_t& hash, std::string& why) const {
  if (column_->hexadecimal) {
    std::uint64_t number = 0;
    if (!parse_hexadecimal(value, number)) {
      return refuse(value, "at most 16 hexadecimal digits", why);
    }
    hash = hash_value(number, seed_);
  } else if (column_->bucket > 0.0) {
    constexpr double kMost = 0x1p62;
    double number = 0.0;
    if (whole(without_plus(value), number) != std::errc()) return refuse(value, "a number", why);
    number = std::floor(number / column_->bucket);
    if (!(std::abs(number) < kMost)) return refuse(value, "a number that has a bucket", why);
    const auto bucket = static_cast<std::int64_t>(number);
    hash = hash_value(static_cast<std::uint64_t>(bucket), seed_);
  } else {
    hash = hash_value(value, seed_);
  }
  return true;
}

bool ColumnEncoder::refuse(std::string_view value, std::string_view allowed,
                           std::string& why) const {
  why = column_->name + " is " + shown(value) + "; it must be " + std::string(allowed);
  return false;
}

bool ColumnEncoder::is_listed(std::string_view value) const {
  return std::ranges::find(schema_->missing, value) != schema_->missing.end();
}

}  // namespace lazydp
