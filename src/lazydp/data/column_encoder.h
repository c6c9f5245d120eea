#pragma once
// Encodes the values of a column: what a label, a number, a category or a key is in a data file.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lazydp/data/file/file_layout.h"
#include "lazydp/data/schema.h"

namespace lazydp {

// A value that a table was asked for.
struct Lookup {
  std::size_t table = 0;   // index among the tables
  std::uint64_t hash = 0;  // stands for the value
};

// Encodes the values of one column as its schema says, for any reader: equal values have equal rows
// in every file of a schema. Nothing in it changes: threads may share it.
class ColumnEncoder {
 public:
  // Returns one encoder for each column, in the schema's order. They point into the schema, which
  // must outlive them and not change.
  static std::vector<ColumnEncoder> all(const Schema& schema);
  static std::vector<ColumnEncoder> all(Schema&& schema) = delete;

  const Column& column() const { return *column_; }

  // Returns whether the schema lists the value as missing.
  bool missing(std::string_view value) const {
    return value.empty() ? empty_is_missing_ : others_missing_ && is_listed(value);
  }

  // Returns a value without the spaces around it, if the schema says that they do not count.
  // Separated text comes so: there, spaces inside quotes count.
  std::string_view trimmed(std::string_view value) const;

  // Writes the column's value into the open record of `out`; columns are encoded in the schema's
  // order. Adds the values that tables were asked for to `lookups`, if there is one. Returns
  // whether the value can be used; if not, `why` says why.
  bool encode(std::string_view value, Records& out, std::string& why,
              std::vector<Lookup>* lookups = nullptr) const;

  // The same for a value that is missing, whichever texts the schema lists for that.
  bool encode_missing(Records& out, std::string& why) const;

  // The same for several values; only a multi column can have them. They mean what they mean in
  // text with the column's separator between them, but a value with a separator in it is one value.
  bool encode_list(std::span<const std::string_view> values, Records& out, std::string& why,
                   std::vector<Lookup>* lookups = nullptr) const;

  // The same for a number, not missing, of a column for which takes_number().
  bool encode_number(double number, Records& out, std::string& why) const;

  // Returns what encode_number() writes for a number; NaN for one that cannot be used.
  float usable_number(double number) const;

  // Writes what usable_number() returned.
  void set_number(float value, Records& out) const {
    column_->role == Role::label ? out.set_label(value) : out.set_dense(place_, value);
  }

  // Writes the row of a value, as find_row() found it, of a categorical column without a key.
  void set_row(std::uint32_t row, Records& out) const { out.set_id(place_, row); }

  // Returns whether a value of the column means its number only, whatever its text is: it is no
  // key, and the schema lists no number as missing.
  bool takes_number() const;

  // Finds the row of one value, not missing, of a categorical or a multi column. Returns whether
  // the value can be used; if not, `why` says why.
  bool find_row(std::string_view value, std::uint32_t& row, std::string& why,
                std::vector<Lookup>* lookups = nullptr) const;

 private:
  ColumnEncoder(const Schema& schema, const Column& column);

  bool encode_label(std::string_view value, Records& out, std::string& why) const;
  bool encode_dense(std::string_view value, Records& out, std::string& why) const;
  bool set_dense(double number, std::string_view shown_as, Records& out, std::string& why) const;
  bool encode_multi(std::string_view value, Records& out, std::string& why,
                    std::vector<Lookup>* lookups) const;
  bool add_part(std::string_view part, Records& out, bool& any, std::string& why,
                std::vector<Lookup>* lookups) const;
  bool find_hash(std::string_view value, std::uint64_t& hash, std::string& why) const;
  bool refuse(std::string_view value, std::string_view allowed, std::string& why) const;
  bool is_listed(std::string_view value) const;

  const Schema* schema_;
  const Column* column_;
  std::uint64_t seed_;
  std::size_t place_ = 0;  // index among the columns of its role
  std::size_t key_ = 0;    // index among the keys
  std::size_t table_ = 0;  // index among the tables
  bool empty_is_missing_;
  bool others_missing_;
  bool numbers_missing_;
};

// Returns a value as an error message shows it: short, and safe on a terminal.
std::string shown(std::string_view value);

// The public hash from values to rows is the same on every machine and never changes.

// Returns the seed of a column's own hash under the salt.
std::uint64_t column_seed(std::string_view column, std::uint64_t salt);

// Returns the hash that stands for a value; collisions are negligible.
std::uint64_t hash_value(std::string_view value, std::uint64_t seed);
std::uint64_t hash_value(std::uint64_t value, std::uint64_t seed);

// Returns the row of a hash. Row 0 is reserved for missing values, unless it is the only one.
std::uint32_t hashed_row(std::uint64_t hash, std::uint64_t rows);

// Returns the hash of a key column's value, for splits and privacy units. Never 0: 0 means that the
// example has no key.
std::uint64_t hash_key(std::string_view value, std::uint64_t seed);

}  // namespace lazydp
