#pragma once
// Parses a line of text into an example.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lazydp/data/file/file_layout.h"
#include "lazydp/data/schema.h"
#include "lazydp/data/text/lines.h"

namespace lazydp {

// The reason why a line is not an example.
struct Complaint {
  std::size_t column = 1;  // position of the offending character
  std::string reason = {};
};

// Counts of each value, by its hash; one map for each table.
using ValueCounts = std::vector<std::unordered_map<std::uint64_t, std::uint64_t>>;

class LineParser {
 public:
  // `longest_record` is the longest that fits into a page of the data file.
  LineParser(const Schema& schema, std::size_t longest_record);
  LineParser(const LineParser&) = delete;  // its plans point into its schema
  LineParser& operator=(const LineParser&) = delete;

  // From now on counts every value that is looked up, in all tables, in `counts`.
  void count_into(ValueCounts* counts) { counts_ = counts; }

  // Adds the example in `line` (no newline) to `out`, or returns why there is none. Not
  // thread-safe.
  std::optional<Complaint> parse(std::string_view line, Records& out);

  // Parses a line that names the columns: returns nothing if they are those of the schema.
  std::optional<Complaint> parse_header(std::string_view line);

 private:
  struct Plan {
    const Column* column = nullptr;
    std::size_t place = 0;  // index among the columns of its role
    std::size_t key = 0;    // index among the keys
    std::size_t table = 0;  // index among the tables
    std::uint64_t seed = 0;
  };

  // Each returns whether it could use the value; if not, why_ says why.
  bool use(const Plan& plan, std::string_view value, Records& out);
  bool use_label(const Plan& plan, std::string_view value, Records& out);
  bool use_dense(const Plan& plan, std::string_view value, Records& out);
  bool use_categorical(const Plan& plan, std::string_view value, Records& out);
  bool use_multi(const Plan& plan, std::string_view value, Records& out);
  bool hash_of(const Plan& plan, std::string_view value, std::uint64_t& hash);
  bool row_of(const Plan& plan, std::string_view value, std::uint32_t& row);
  bool refuse(const Column& column, std::string_view value, std::string_view allowed);
  bool missing(std::string_view value) const {
    return value.empty() ? empty_is_missing_ : others_missing_ && is_listed(value);
  }
  bool is_listed(std::string_view value) const;

  Schema schema_;
  std::size_t longest_record_;
  bool empty_is_missing_;
  bool others_missing_;
  ValueCounts* counts_ = nullptr;
  std::vector<Plan> plans_;
  std::string scratch_;
  std::string why_;
};

}  // namespace lazydp
