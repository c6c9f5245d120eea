#include "lazydp/data/text/column_facts.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>
#include <span>
#include <system_error>

#include "lazydp/data/number.h"

namespace lazydp {
namespace {

std::optional<double> parse(std::string_view text) {
  double value = 0.0;
  if (parse_number(text, value) != std::errc() || !std::isfinite(value)) return std::nullopt;
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
  double seconds = 0.0;
  if (parse_time(value, seconds) == std::errc()) ++written_times_;
}

bool ColumnFacts::repeating_numbers() const {
  constexpr std::size_t kMany = 5;
  if (!numeric() || !whole_ || lowest_ < 0.0 || few_values()) return false;
  const auto most =
      std::ranges::max_element(counts_, {}, [](const auto& entry) { return entry.second; });
  return present_ >= kMany * counts_.size() && most->second * 2 < present_;
}

bool ColumnFacts::row_number(bool named_id) const {
  constexpr std::size_t kLeast = 20;  // among fewer rows a repeat need not occur
  if (present_ < kLeast || counts_.size() < present_ || several_values() || time()) return false;
  return !numeric() || (whole_ && (ascends_ || named_id));
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

namespace {

// Returns the words of a name in lower case: "user_id" and "userId" have two.
std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words(1);
  bool lower = false;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    const bool starts = std::isupper(letter) != 0 && lower;
    if (starts || std::isalnum(letter) == 0) words.emplace_back();
    if (std::isalnum(letter) != 0) words.back() += static_cast<char>(std::tolower(letter));
    lower = std::islower(letter) != 0;
  }
  return words;
}

bool has_word_of(const std::string& name, std::span<const std::string_view> known) {
  return std::ranges::any_of(words_of(name), [known](const std::string& word) {
    return std::ranges::find(known, word) != known.end();
  });
}

constexpr std::array<std::string_view, 30> kIdWords = {
    "id",      "uid",     "guid",    "uuid",     "user",     "userid",  "item",   "itemid",
    "movie",   "movieid", "product", "customer", "client",   "member",  "person", "visitor",
    "account", "session", "device",  "merchant", "campaign", "article", "book",   "song",
    "artist",  "track",   "video",   "sku",      "asin",     "isbn"};
constexpr std::array<std::string_view, 26> kQuantityWords = {
    "age",    "count",    "cnt",    "price",   "amount",  "total",    "sum",    "number", "num",
    "qty",    "quantity", "hours",  "minutes", "seconds", "duration", "length", "size",   "score",
    "weight", "height",   "income", "gain",    "loss",    "rate",     "year",   "budget"};

}  // namespace

bool named_as_quantity(const std::string& name) {
  return has_word_of(name, kQuantityWords);
}

bool named_as_id(const std::string& name) {
  return has_word_of(name, kIdWords) && !named_as_quantity(name);
}

}  // namespace lazydp
