#include "lazydp/data/text/guess_schema.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

#include "lazydp/base/error.h"
#include "lazydp/data/column_encoder.h"
#include "lazydp/data/text/column_facts.h"
#include "lazydp/data/text/lines.h"

namespace lazydp {

namespace {

constexpr std::size_t kSampleBytes = std::size_t{4} << 20;
constexpr std::size_t kSampleLines = 20'000;
constexpr std::array<std::string_view, 5> kSeparators = {"\t", "::", ",", ";", "|"};
constexpr std::array<std::string_view, 10> kLabelNames = {
    "label", "click", "clicked", "target", "y", "class", "income", "rating", "cnt", "response"};
constexpr std::array<std::string_view, 7> kPositiveValues = {"1",    "+1",   "yes",  "true",
                                                             "True", ">50K", "click"};

using Row = std::vector<std::string>;

std::string sample_text(const std::string& path) {
  LineBlocks blocks({path}, {}, kSampleBytes);
  LineBlock block;
  if (!blocks.next(block)) return {};
  const std::size_t most = std::min(block.text.size(), kSampleBytes);
  return std::string(block.text.substr(0, block.text.substr(0, most).rfind('\n') + 1));
}

std::vector<std::string_view> records_of(std::string_view text, const Schema& schema) {
  const RecordEnds ends(schema);
  std::vector<std::string_view> records;
  while (!text.empty() && records.size() < kSampleLines) {
    const std::size_t length = ends.first(text, true);
    std::string_view record = text.substr(0, length - 1);
    text.remove_prefix(length);
    if (record.ends_with('\r')) record.remove_suffix(1);
    if (!record.empty()) records.push_back(record);
  }
  return records;
}

Row split(std::string_view line, const Schema& schema) {
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

// Splits a text by the separator under which most of its records have the same number of columns.
// Returns the rows that have that number.
std::vector<Row> best_split(std::string_view text, Schema& schema) {
  std::vector<Row> best;
  for (const std::string_view separator : kSeparators) {
    Schema tried = schema;
    tried.separator = separator;
    std::vector<Row> rows;
    const std::vector<std::string_view> lines = records_of(text, tried);
    const std::size_t columns = split(lines.front(), tried).size();
    for (const std::string_view line : lines) {
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

// Returns why a column of numbers or values is an id, or nothing.
std::string why_id(const ColumnFacts& facts, const Column& column) {
  if (named_as_id(column.name)) return "an id, by its name";
  if (facts.repeating_numbers() && !named_as_quantity(column.name)) {
    return "an id, because its whole numbers repeat (if they count or measure something, write "
           "role = \"dense\")";
  }
  return {};
}

// Returns a remark about the column, if there is anything to say.
std::string make_feature(const ColumnFacts& facts, Column& column) {
  constexpr double kMonth = 2'592'000.0;
  constexpr std::uint64_t kMonths = 256;
  const std::string id = why_id(facts, column);
  if (facts.row_number(!id.empty())) return "ignored: it differs in every row";
  if (facts.time()) {
    column.role = Role::categorical;
    column.bucket = kMonth;
    column.rows = kMonths;
  } else if (!id.empty() && !facts.several_values()) {
    column.role = Role::categorical;
    column.rows = guess_rows(facts);
    column.key = true;
    return id + ": categorical, and a key, to split and to protect by";
  } else if (facts.numeric() && !facts.few_values() && !facts.looks_like_id()) {
    column.role = Role::dense;
  } else {
    column.role = facts.several_values() ? Role::multi : Role::categorical;
    if (facts.several_values()) column.separator = "|";
    column.rows = guess_rows(facts);
  }
  return {};
}

// Adds the columns of a joined table to the rows, of which the first must name the key.
void add_joined(const JoinSource& join, const Schema& schema, std::vector<Row>& rows) {
  const JoinedTable table(join, schema);
  const auto key = std::ranges::find(rows.front(), join.key);
  if (!schema.header || key == rows.front().end()) {
    throw UserError("'" + join.path + "' is to be joined by " + shown(join.key) +
                    ", and the first line of the log names no such column");
  }
  const auto place = static_cast<std::size_t>(key - rows.front().begin());
  for (Row& row : rows) {
    const Row* more = &row == &rows.front() ? &table.columns() : table.find(row[place]);
    const Row missing(table.columns().size());
    if (more == nullptr) more = &missing;
    row.insert(row.end(), more->begin(), more->end());
  }
}

}  // namespace

Guess guess_schema(const std::string& path, const JoinSource* join) {
  const std::string text = sample_text(path);
  if (text.find_first_not_of("\r\n") == std::string::npos)
    throw UserError("there is not one whole line in '" + path + "'");
  Guess guess;
  std::vector<Row> rows = best_split(text, guess.schema);
  if (rows.empty()) {
    throw UserError(
        "no separator (tab, ::, comma, semicolon, |) makes the same columns of the lines of '" +
        path + "'");
  }
  guess.schema.header = is_header(rows);
  if (join != nullptr) add_joined(*join, guess.schema, rows);
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
      const std::string note = make_feature(facts[i], column);
      if (!note.empty()) guess.notes.push_back(shown(column.name) + " is " + note);
    }
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
  for (const std::string& note : guess.notes) guess.comment += "# " + note + "\n";
  guess.schema.validate();
  return guess;
}

}  // namespace lazydp
