#pragma once
// The columns of a log, and how each becomes a label, a number or rows of a table.
//
// Nothing in a schema is computed from the data unless the user chose to: values are hashed to
// rows, so that the number of rows says nothing about which values occur. The salt of the hash is
// public.

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

// One column of the text. A field that the role does not use keeps its default.
struct Column {
  std::string name = {};
  Role role = Role::ignore;

  std::vector<std::string> positive = {};    // label: these values; or
  std::optional<double> positive_from = {};  // this number and those above it
  std::vector<std::string> negative = {};    // if any: a value that is in neither list is an error

  Transform transform = Transform::log;  // dense
  bool integer = false;                  // dense: accepts only 64-bit whole numbers
  std::uint64_t rows = 0;                // categorical, multi: includes row 0 for missing values
  bool hexadecimal = false;              // categorical, multi: at most 16 hexadecimal digits
  double bucket = 0.0;                   // categorical: rounds numbers down to a multiple of it
  std::string separator = {};            // multi: stands between values
  // categorical, multi: the hashes of values that have a row of their own, ascending. The first has
  // row 2; all other values share row 1. Empty: values are hashed to rows.
  std::vector<std::uint64_t> vocabulary = {};
  bool key = false;  // a hash of the value is kept, for splits and privacy units
};

struct Schema {
  std::string source = "csv";  // origin of the examples, for people
  std::string separator = ",";
  bool header = false;                      // the first line of each input names the columns
  bool quotes = true;                       // fields may stand in double quotes
  bool trim = true;                         // spaces around a field are ignored
  std::vector<std::string> missing = {""};  // texts that stand for a missing value
  std::uint64_t salt = 0;                   // salt of the hash to rows
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
// The bound on dense values, so that their squares, and sums of these, are finite.
inline constexpr double kLargestDense = 1e12;

// Returns the schema of the Criteo logs: a label, 13 whole numbers, 26 hexadecimal values;
// tab-separated, no header. `rows` has one number for every categorical column, or one for all.
Schema criteo_schema(const std::vector<std::uint64_t>& rows, std::uint64_t salt);

// Parses the TOML that people write and data files store. Throws UserError, with a message that
// begins with `name`, the file's name, unless the schema is valid.
Schema parse_schema(std::string_view text, const std::string& name);

// Returns the schema as TOML that parses to the same schema.
std::string schema_text(const Schema& schema);

std::string_view role_name(Role role);
std::string_view transform_name(Transform transform);

}  // namespace lazydp
