#pragma once
// Statistics of a sample of a column, from which its role is guessed.

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lazydp {

bool is_number(std::string_view text);
std::string lower_case(std::string text);

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
  // True for seconds since 1970, and for dates and times as people write them.
  bool time() const {
    return numeric() && (written_times_ == present_ || (whole_ && lowest_ > 5e8 && highest_ < 5e9));
  }
  bool several_values() const { return with_bars_ * 5 > present_; }
  // True for whole numbers that each occur many times, none of them in most rows: what people and
  // things are numbered by.
  bool repeating_numbers() const;
  // True if no two rows have the same value, which no model learns anything from: a number of the
  // row, or text that is never the same. Quantities and times may differ in every row.
  bool row_number(bool named_id) const;
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
  std::size_t written_times_ = 0;
  std::size_t question_marks_ = 0;
  std::size_t leading_zeros_ = 0;
  std::size_t with_bars_ = 0;
  bool whole_ = true;
  bool ascends_ = true;
  double lowest_ = 0.0;
  double highest_ = 0.0;
};

// Returns whether a column has the name of an id, such as user_id, itemId or movie, and not that of
// a quantity, such as user_age.
bool named_as_id(const std::string& name);

// Returns whether a column has the name of a quantity, such as price.
bool named_as_quantity(const std::string& name);

}  // namespace lazydp
