// Several values in one column.

#include <algorithm>

#include "lazydp/data/column_encoder.h"

namespace lazydp {

// Skips missing values between others; a field without any value counts as one missing value.
bool ColumnEncoder::encode_multi(std::string_view value, Records& out, std::string& why,
                                 std::vector<Lookup>* lookups) const {
  bool any = false;
  const std::string_view separator = column_->separator;
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find(separator, begin), value.size());
    if (!add_part(value.substr(begin, end - begin), out, any, why, lookups)) return false;
    begin = end + separator.size();
  }
  if (!any) out.add_value(place_, 0);
  return true;
}

bool ColumnEncoder::encode_list(std::span<const std::string_view> values, Records& out,
                                std::string& why, std::vector<Lookup>* lookups) const {
  if (column_->role == Role::ignore && !column_->key) return true;
  if (column_->role != Role::multi) {
    why = column_->name + " is a list; only a column of role multi can have several values";
    return false;
  }
  if (column_->key) {
    std::string text;
    for (const std::string_view value : values) {
      text.append(text.empty() ? "" : column_->separator).append(value);
    }
    out.set_key(key_, missing(text) ? 0 : hash_key(text, seed_));
  }
  bool any = false;
  for (const std::string_view value : values) {
    if (!add_part(value, out, any, why, lookups)) return false;
  }
  if (!any) out.add_value(place_, 0);
  return true;
}

// Adds one of several values, unless it is missing.
bool ColumnEncoder::add_part(std::string_view part, Records& out, bool& any, std::string& why,
                             std::vector<Lookup>* lookups) const {
  part = trimmed(part);
  if (missing(part)) return true;
  std::uint32_t row = 0;
  if (!find_row(part, row, why, lookups)) return false;
  out.add_value(place_, row);
  any = true;
  return true;
}

}  // namespace lazydp
