#pragma once
// Guesses a first schema for a text that has none.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lazydp/data/schema.h"

namespace lazydp {

bool is_number(std::string_view text);
std::string lower_case(std::string text);

// Statistics of a sample of a column, from which its role is guessed.
class ColumnFacts {
 public:
  // Returns the facts of column `i` in the rows from number `first` on. Leaves out empty values and
  // "?".
  static ColumnFacts of(const std::vector<std::vector<std::string>>& rows, std::size_t i,
                        std::size_t first);

  bool numeric() const { return present_ > 0 && numbers_ == present_; }
  bool few_values() const { return counts_.size() <= 20; }
  std::size_t distinct() const { return counts_.size(); }
  bool question_marks() const { return question_marks_ > 0; }
  // True for numbers with leading zeros, or whole numbers that never fall: names rather than
  // quantities.
  bool looks_like_id() const { return leading_zeros_ > 0 || (whole_ && ascends_); }
  bool unix_time() const { return whole_ && lowest_ > 5e8 && highest_ < 5e9; }
  bool several_values() const { return with_bars_ * 5 > present_; }
  double median() const;       // median of the numbers
  std::string rarest() const;  // rarest of the values
  bool has(std::string_view value) const { return counts_.contains(std::string(value)); }
  std::vector<std::string> values() const;  // distinct values

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
  std::string comment;      // for the top of the file: which lines were read, and what that means
  std::uint64_t lines = 0;  // number of lines that were read
};

// Guesses a schema from the first lines of an input. Roles and numbers of rows are then taken from
// the data, so the user should review and change it, not use it blindly. Throws UserError if no
// separator splits the text into columns.
Guess guess_schema(const std::string& path);

}  // namespace lazydp
