#include "lazydp/data/text/column_facts.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

namespace lazydp {
namespace {

std::optional<double> parse(std::string_view text) {
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

bool is_number(std::string_view text) {
  return parse(text).has_value();
}

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

ColumnFacts ColumnFacts::of(const std::vector<std::vector<std::string>>& rows, std::size_t i,
                            std::size_t first) {
  ColumnFacts facts;
  for (std::size_t r = first; r < rows.size(); ++r) facts.add(rows[r][i]);
  return facts;
}

void ColumnFacts::add(const std::string& value) {
  if (value == "?") ++question_marks_;
  if (value.empty() || value == "?") return;
  ++present_;
  ++counts_[value];
  if (value.find('|') != std::string::npos) ++with_bars_;
  const std::optional<double> number = parse(value);
  if (!number) return;
  if (numbers_ == 0) lowest_ = highest_ = *number;
  if (!numbers_seen_.empty() && *number < numbers_seen_.back()) ascends_ = false;
  ++numbers_;
  numbers_seen_.push_back(*number);
  lowest_ = std::min(lowest_, *number);
  highest_ = std::max(highest_, *number);
  if (*number != std::floor(*number)) whole_ = false;
  if (value.size() > 1 && value[0] == '0' && value[1] != '.') ++leading_zeros_;
}

double ColumnFacts::median() const {
  std::vector<double> sorted = numbers_seen_;
  std::ranges::sort(sorted);
  return sorted.empty() ? 0.0 : sorted[sorted.size() / 2];
}

std::string ColumnFacts::rarest() const {
  const auto least =
      std::ranges::min_element(counts_, {}, [](const auto& entry) { return entry.second; });
  return least == counts_.end() ? "1" : least->first;
}

std::vector<std::string> ColumnFacts::values() const {
  std::vector<std::string> all;
  for (const auto& [value, count] : counts_) all.push_back(value);
  return all;
}

}  // namespace lazydp
