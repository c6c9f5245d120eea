#pragma once
// A first schema for a text that nobody has described yet.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lazydp/data/schema.h"

namespace lazydp {

// What a sample of a column looks like, for guessing what the column is.

bool is_number(std::string_view text);
std::string lower_case(std::string text);

class ColumnFacts {
 public:
  // Of column `i` of the rows from number `first` on. Empty values and "?" are left out.
  static ColumnFacts of(const std::vector<std::vector<std::string>>& rows, std::size_t i,
                        std::size_t first);

  bool numeric() const { return present_ > 0 && numbers_ == present_; }
  bool few_values() const { return counts_.size() <= 20; }
  std::size_t distinct() const { return counts_.size(); }
  bool question_marks() const { return question_marks_ > 0; }
  // Numbers with leading zeros, or whole numbers that never fall: names rather than quantities.
  bool looks_like_id() const { return leading_zeros_ > 0 || (whole_ && ascends_); }
  bool unix_time() const { return whole_ && lowest_ > 5e8 && highest_ < 5e9; }
  bool several_values() const { return with_bars_ * 5 > present_; }
  double median() const;       // of the numbers
  std::string rarest() const;  // of the values
  bool has(std::string_view value) const { return counts_.contains(std::string(value)); }
  std::vector<std::string> values() const;  // distinct ones

 private:
  void add(const std::string& value);

  std::map<std::string, std::size_t> counts_;
  std::vector<double> numbers_seen_;
  std::size_t present_ = 0;
  std::size_t numbers_ = 0;
  std::size_t question_marks_ = 0;
  std::size_t leading_zeros_ = 0;
  std::size_t with_bars_ = 0;
  bool whole_ = true;
  bool ascends_ = true;
  double lowest_ = 0.0;
  double highest_ = 0.0;
};

struct Guess {
  Schema schema;
  std::string comment;      // for the top of the file: what was looked at, and what that means
  std::uint64_t lines = 0;  // looked at
};

// From the first lines of an input. Roles and numbers of rows are then taken from the data, so it
// is for somebody to look at and to change, not to use blindly. UserError if no separator makes
// columns of it.
Guess guess_schema(const std::string& path);

}  // namespace lazydp
