#pragma once
// What the columns of a log are, and how each becomes a label, a number or rows of a table.
//
// Nothing in a schema is computed from the data unless somebody chose to: rows are hashed to, so
// that the number of rows says nothing about which values occur. The salt of the hash is public.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lazydp/base/types.h"

namespace lazydp {

enum class Role : std::uint8_t { ignore, label, dense, categorical, multi };
enum class Transform : std::uint8_t { none, log };  // log: negative becomes 0, then log(1 + x)

// Of one column of the text. A field that the role does not use keeps its default.
struct Column {
  std::string name = {};
  Role role = Role::ignore;

  std::vector<std::string> positive = {};    // label: these values; or
  std::optional<double> positive_from = {};  // this number and those above it
  std::vector<std::string> negative = {};    // if any: a value that is in neither list is an error

  Transform transform = Transform::log;  // dense
  bool integer = false;                  // dense: only whole numbers of 64 bits
  std::uint64_t rows = 0;                // categorical, multi: with row 0 for missing values
  bool hexadecimal = false;              // categorical, multi: at most 16 hexadecimal digits
  double bucket = 0.0;                   // categorical: a number, rounded down to a multiple of it
  std::string separator = {};            // multi: between values
  // categorical, multi: the hashes of values that have a row of their own, ascending. The first has
  // row 2, all other values share row 1. Empty: values are hashed to rows.
  std::vector<std::uint64_t> vocabulary = {};
  bool key = false;  // a hash of it is kept, to split and to protect by
};

struct Schema {
  std::string source = "csv";  // where the examples come from, for people
  std::string separator = ",";
  bool header = false;                      // the first line of each input names the columns
  bool quotes = true;                       // fields may stand in double quotes
  bool trim = true;                         // spaces around a field do not count
  std::vector<std::string> missing = {""};  // what stands for a missing value
  std::uint64_t salt = 0;                   // of the hash to rows
  std::string from_data = {};               // which of this was learned from the data, if any
  std::vector<Column> columns = {};         // in the order of the text

  // Throws UserError, naming the column, unless examples can be made of such columns.
  void validate() const;

  std::vector<const Column*> with_role(Role role) const;
  std::size_t dense_features() const { return with_role(Role::dense).size(); }
  std::vector<const Column*> tables() const;  // categorical and multi, in order
  std::vector<const Column*> keys() const;    // in order
};

inline constexpr std::uint64_t kMaxHashRows = std::uint64_t{1} << 31;
inline constexpr std::uint32_t kRareRow = 1;  // of a column with a vocabulary
inline constexpr std::uint32_t kFirstVocabularyRow = 2;
inline constexpr std::size_t kMaxColumns = 4096;
// Dense values are no larger, so that squares of them, and sums of those, are numbers.
inline constexpr double kLargestDense = 1e12;

// The Criteo logs: a label, 13 whole numbers, 26 hexadecimal values; tab-separated, no header.
// `rows` has one number for every value, or one for all.
Schema criteo_schema(const std::vector<std::uint64_t>& rows, std::uint64_t salt);

// Schemas as people write them and data files keep them: TOML.

// A valid schema, or a UserError that begins with `name`, the file it comes from.
Schema parse_schema(std::string_view text, const std::string& name);

// Reads back as the same schema.
std::string schema_text(const Schema& schema);

std::string_view role_name(Role role);
std::string_view transform_name(Transform transform);

}  // namespace lazydp
