#include "lazydp/data/column_encoder.h"

#define XXH_INLINE_ALL  // values are a few bytes: a call would cost as much as the hash
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "lazydp/base/error.h"
#include "lazydp/base/text/toml.h"
#include "lazydp/data/number.h"

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
      others_missing_(schema.missing.size() > (empty_is_missing_ ? 1u : 0u)),
      numbers_missing_(std::ranges::any_of(schema.missing, [](const std::string& text) {
        double number = 0.0;
        return parse_number(text, number) == std::errc();
      })) {}

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

std::string_view ColumnEncoder::trimmed(std::string_view value) const {
  if (!schema_->trim) return value;
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  value.remove_suffix(value.size() - (value.find_last_not_of(' ') + 1));
  return value;
}

bool ColumnEncoder::encode(std::string_view value, Records& out, std::string& why,
                           std::vector<Lookup>* lookups) const {
  if (column_->role == Role::multi) {
    if (column_->key) out.set_key(key_, missing(value) ? 0 : hash_key(value, seed_));
    return encode_multi(value, out, why, lookups);
  }
  if (missing(value)) {
    if (column_->role != Role::label) return encode_missing(out, why);
    return refuse(value, "there: it is the label", why);
  }
  if (column_->key) out.set_key(key_, hash_key(value, seed_));
  switch (column_->role) {
    case Role::ignore: return true;
    case Role::label: return encode_label(value, out, why);
    case Role::dense: return encode_dense(value, out, why);
    case Role::categorical: {
      std::uint32_t row = 0;
      if (!find_row(value, row, why, lookups)) return false;
      out.set_id(place_, row);
      return true;
    }
    case Role::multi: break;
  }
  throw InternalError("unknown Role");
}

// Everything else of a record begins as a missing value.
bool ColumnEncoder::encode_missing(Records& out, std::string& why) const {
  if (column_->role == Role::label) return refuse("", "there: it is the label", why);
  if (column_->role == Role::multi) out.add_value(place_, 0);
  return true;
}

bool ColumnEncoder::encode_label(std::string_view value, Records& out, std::string& why) const {
  bool positive = false;
  if (column_->positive_from) {
    double number = 0.0;
    if (parse_number(value, number) != std::errc() || std::isnan(number)) {
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
  double number = 0.0;
  if (column_->integer) {
    std::int64_t integer = 0;
    const std::errc error = parse_number(value, integer);
    if (error == std::errc::result_out_of_range)
      return refuse(value, "a whole number of 64 bits", why);
    if (error != std::errc()) return refuse(value, "a whole number", why);
    number = static_cast<double>(integer);
  } else if (parse_number(value, number) != std::errc() || !std::isfinite(number)) {
    return refuse(value, "a number", why);
  }
  return set_dense(number, value, out, why);
}

// `shown_as` is how an error message shows the number; empty: as its shortest text.
bool ColumnEncoder::set_dense(double number, std::string_view shown_as, Records& out,
                              std::string& why) const {
  double value = number;
  if (column_->transform == Transform::log) value = log_of_one_and(std::max(0.0, number));
  if (!(std::abs(value) <= kLargestDense)) {
    const std::string text = shown_as.empty() ? exact_text(number) : std::string(shown_as);
    return refuse(text, "a number from -1e12 to 1e12, or the column's transform must be log", why);
  }
  out.set_dense(place_, static_cast<float>(value));
  return true;
}

bool ColumnEncoder::takes_number() const {
  if (column_->key || numbers_missing_) return false;
  return column_->role == Role::dense ||
         (column_->role == Role::label && column_->positive_from.has_value());
}

float ColumnEncoder::usable_number(double number) const {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  if (column_->role == Role::label) {
    return std::isnan(number) ? kNone : number >= *column_->positive_from ? 1.0f : 0.0f;
  }
  const bool whole = number == std::floor(number) && std::abs(number) < 0x1p63;
  if (!std::isfinite(number) || (column_->integer && !whole)) return kNone;
  if (column_->transform == Transform::log) number = log_of_one_and(std::max(0.0, number));
  return std::abs(number) <= kLargestDense ? static_cast<float>(number) : kNone;
}

bool ColumnEncoder::encode_number(double number, Records& out, std::string& why) const {
  check(takes_number(), "the column takes numbers");
  if (std::isnan(number)) return refuse("nan", "a number", why);
  if (column_->role == Role::label) {
    out.set_label(number >= *column_->positive_from ? 1.0f : 0.0f);
    return true;
  }
  if (!std::isfinite(number)) return refuse(exact_text(number), "a number", why);
  if (column_->integer && number != std::floor(number)) {
    return refuse(exact_text(number), "a whole number", why);
  }
  if (column_->integer && !(std::abs(number) < 0x1p63)) {
    return refuse(exact_text(number), "a whole number of 64 bits", why);
  }
  return set_dense(number, {}, out, why);
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
    if (parse_number(value, number) != std::errc()) return refuse(value, "a number", why);
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
