#include "lazydp/data/text/guess_schema.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include "lazydp/base/error.h"
#include "lazydp/data/text/byte_source.h"
#include "lazydp/data/text/lines.h"

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

namespace {

constexpr std::size_t kSampleBytes = std::size_t{4} << 20;
constexpr std::size_t kSampleLines = 20'000;
constexpr std::array<std::string_view, 5> kSeparators = {"\t", "::", ",", ";", "|"};
constexpr std::array<std::string_view, 10> kLabelNames = {
    "label", "click", "clicked", "target", "y", "class", "income", "rating", "cnt", "response"};
constexpr std::array<std::string_view, 7> kPositiveValues = {"1",    "+1",   "yes",  "true",
                                                             "True", ">50K", "click"};

using Row = std::vector<std::string>;

std::vector<std::string> sample_lines(const std::string& path) {
  std::string text(kSampleBytes, '\0');
  const std::size_t size = open_source(path)->read(text);
  const bool whole = size < text.size();
  text.resize(size);
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  if (whole && !text.ends_with('\n')) text += '\n';
  std::vector<std::string> lines;
  for (std::size_t begin = 0; lines.size() < kSampleLines;) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;
    std::string line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) lines.push_back(std::move(line));
    begin = end + 1;
  }
  return lines;
}

Row split(const std::string& line, const Schema& schema) {
  Row row;
  std::string scratch;
  Fields fields(schema, line, scratch);
  while (fields.more()) {
    const auto field = fields.next();
    if (!field) return {};
    row.emplace_back(field->value);
  }
  return row;
}

// Splits lines by the separator under which most of them have the same number of columns. Returns
// the rows that have that number.
std::vector<Row> best_split(const std::vector<std::string>& lines, Schema& schema) {
  std::vector<Row> best;
  for (const std::string_view separator : kSeparators) {
    Schema tried = schema;
    tried.separator = separator;
    std::vector<Row> rows;
    const std::size_t columns = split(lines.front(), tried).size();
    for (const std::string& line : lines) {
      Row row = split(line, tried);
      if (columns > 1 && row.size() == columns) rows.push_back(std::move(row));
    }
    const bool good = rows.size() * 10 >= lines.size() * 9;
    const bool better = best.empty() || columns > best.front().size();
    if (good && better) {
      best = std::move(rows);
      schema = tried;
    }
  }
  return best;
}

bool has_name_of_label(const std::string& name) {
  return std::ranges::find(kLabelNames, lower_case(name)) != kLabelNames.end();
}

bool is_header(const std::vector<Row>& rows) {
  const Row& first = rows.front();
  if (std::ranges::any_of(first, [](const std::string& v) { return v.empty() || is_number(v); })) {
    return false;
  }
  if (std::ranges::any_of(first, has_name_of_label)) return true;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (ColumnFacts::of(rows, i, 1).numeric()) return true;
  }
  return false;
}

std::size_t guess_label(const std::vector<ColumnFacts>& facts, const Row& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (has_name_of_label(names[i])) return i;
  }
  const std::size_t last = facts.size() - 1;
  if (facts[last].distinct() == 2) return last;
  for (const bool two : {true, false}) {
    for (std::size_t i = 0; i < facts.size(); ++i) {
      if (two ? facts[i].distinct() == 2 : facts[i].numeric() && facts[i].few_values()) return i;
    }
  }
  return last;
}

void make_label(const ColumnFacts& facts, Column& column) {
  column.role = Role::label;
  if (facts.distinct() > 2 && facts.numeric()) {
    column.positive_from = facts.median();
    return;
  }
  column.positive = {facts.rarest()};
  for (const std::string_view value : kPositiveValues) {
    if (facts.has(value)) column.positive = {std::string(value)};
  }
  for (const std::string& value : facts.values()) {
    if (facts.distinct() == 2 && value != column.positive.front()) column.negative = {value};
  }
}

// Returns many more rows than values were seen, so that the number says little about the data.
std::uint64_t guess_rows(const ColumnFacts& facts) {
  constexpr std::size_t kLeast = 16;
  constexpr std::size_t kMost = std::size_t{1} << 20;
  constexpr std::size_t kRoom = 4;
  return std::clamp(std::bit_ceil(facts.distinct() * kRoom), kLeast, kMost);
}

void make_feature(const ColumnFacts& facts, Column& column) {
  constexpr double kMonth = 2'592'000.0;
  constexpr std::uint64_t kMonths = 256;
  if (facts.numeric() && facts.unix_time()) {
    column.role = Role::categorical;
    column.bucket = kMonth;
    column.rows = kMonths;
  } else if (facts.numeric() && !facts.few_values() && !facts.looks_like_id()) {
    column.role = Role::dense;
  } else {
    column.role = facts.several_values() ? Role::multi : Role::categorical;
    if (facts.several_values()) column.separator = "|";
    column.rows = guess_rows(facts);
  }
}

}  // namespace

Guess guess_schema(const std::string& path) {
  const std::vector<std::string> lines = sample_lines(path);
  if (lines.empty()) throw UserError("there is not one whole line in '" + path + "'");
  Guess guess;
  const std::vector<Row> rows = best_split(lines, guess.schema);
  if (rows.empty()) {
    throw UserError(
        "no separator (tab, ::, comma, semicolon, |) makes the same columns of the lines of '" +
        path + "'");
  }
  guess.schema.header = is_header(rows);
  const std::size_t first = guess.schema.header ? 1 : 0;
  if (rows.size() == first) throw UserError("there is only a header in '" + path + "'");
  std::vector<ColumnFacts> facts;
  Row names;
  bool question_marks = false;
  for (std::size_t i = 0; i < rows.front().size(); ++i) {
    facts.push_back(ColumnFacts::of(rows, i, first));
    names.push_back(first == 1 ? rows.front()[i] : "c" + std::to_string(i + 1));
    question_marks |= facts.back().question_marks();
  }
  if (question_marks) guess.schema.missing = {"", "?"};
  const std::size_t label = guess_label(facts, names);
  for (std::size_t i = 0; i < facts.size(); ++i) {
    Column column{.name = names[i]};
    if (i == label) {
      make_label(facts[i], column);
    } else {
      make_feature(facts[i], column);
    }
    column.key = column.role == Role::categorical && lower_case(names[i]).starts_with("user");
    guess.schema.columns.push_back(std::move(column));
  }
  guess.lines = rows.size() - first;
  guess.schema.from_data = "roles and numbers of rows, guessed from the first lines";
  guess.comment = "# Guessed from the first " + std::to_string(guess.lines) +
                  " lines. Check it: which column is the label and what counts as positive, which\n"
                  "# numbers are quantities (dense) and which are names (categorical), how many "
                  "rows each table\n"
                  "# gets. What was taken from private data is not covered by epsilon; when every "
                  "choice is one\n"
                  "# that you could have made without the data, remove the line from_data.\n";
  guess.schema.validate();
  return guess;
}

}  // namespace lazydp
