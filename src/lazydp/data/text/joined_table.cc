#include "lazydp/data/text/joined_table.h"

#include <algorithm>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/data/column_encoder.h"
#include "lazydp/data/text/lines.h"

namespace lazydp {
namespace {

// Returns the fields of a line; none if a quote does not end well.
std::vector<std::string> fields_of(std::string_view line, const Schema& rules) {
  std::vector<std::string> values;
  std::string scratch;
  Fields fields(rules, line, scratch);
  while (fields.more()) {
    const std::optional<Field> field = fields.next();
    if (!field) return {};
    values.emplace_back(field->value);
  }
  return values;
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

}  // namespace

JoinedTable::JoinedTable(const JoinSource& source, const Schema& rules) : source_(source) {
  constexpr std::size_t kBlockBytes = 2 * kMaxLineBytes;  // such files are mostly small
  LineBlocks blocks({source.path}, {.ends = RecordEnds(rules)}, kBlockBytes);
  const RecordEnds ends(rules);
  LineBlock block;
  std::uint64_t number = 1;
  while (blocks.next(block)) {
    if (blocks.text_bytes() > kMaxJoinedBytes) {
      throw UserError("'" + source.path +
                      "' has more than 1 GiB of text; a file to join is held in memory");
    }
    for (std::string_view rest = block.text; !rest.empty();) {
      const std::size_t length = ends.first(rest, true);
      std::string_view line = rest.substr(0, length - 1);
      rest.remove_prefix(length);
      const auto newlines = static_cast<std::uint64_t>(std::ranges::count(line, '\n'));
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (number == 1) {
        read_names(line, rules);
      } else if (!line.empty()) {
        read_row(line, rules, number);
      }
      number += 1 + newlines;
    }
    if (block.then_too_long) {
      throw UserError(source.path + ":" + std::to_string(number) + ": the line is longer than " +
                      std::to_string(kMaxLineBytes) + " bytes");
    }
  }
  if (rows_.empty()) throw UserError("'" + source.path + "' is to be joined, and has no rows");
}

void JoinedTable::read_names(std::string_view line, const Schema& rules) {
  columns_ = fields_of(line, rules);
  const auto key = std::ranges::find(columns_, source_.key);
  if (key == columns_.end()) {
    throw UserError("'" + source_.path + "' is to be joined by " + shown(source_.key) +
                    ", and its first line has no such column; it has " +
                    (columns_.empty() ? "nothing" : shown(joined(columns_))));
  }
  if (columns_.size() == 1) {
    throw UserError("'" + source_.path + "' has no column beside the key " + shown(source_.key));
  }
  key_ = static_cast<std::size_t>(key - columns_.begin());
  columns_.erase(key);
}

void JoinedTable::read_row(std::string_view line, const Schema& rules, std::uint64_t number) {
  const std::string where = source_.path + ":" + std::to_string(number) + ": ";
  Row row = fields_of(line, rules);
  if (row.size() != columns_.size() + 1) {
    throw UserError(where + "the line has " + std::to_string(row.size()) +
                    (row.size() == 1 ? " column" : " columns") + "; it must have " +
                    std::to_string(columns_.size() + 1));
  }
  std::string key = std::move(row[key_]);
  row.erase(row.begin() + static_cast<std::ptrdiff_t>(key_));
  const auto [at, added] = rows_.try_emplace(std::move(key), std::move(row));
  if (!added) {
    throw UserError(where + "the key " + shown(at->first) +
                    " occurs for the second time; a line of the log has one row to join");
  }
}

void JoinedTable::require_columns(const Schema& schema) const {
  const std::vector<Column>& all = schema.columns;
  const std::size_t own = all.size() - std::min(all.size(), columns_.size());
  const bool last = std::ranges::equal(
      all.begin() + static_cast<std::ptrdiff_t>(own), all.end(), columns_.begin(), columns_.end(),
      [](const Column& column, const std::string& name) { return column.name == name; });
  if (!last) {
    throw UserError("'" + source_.path +
                    "' is to be joined: its columns must be the last ones of the schema, in this "
                    "order: " +
                    joined(columns_));
  }
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(own);
  if (std::find_if(all.begin(), end, [&](const Column& c) { return c.name == source_.key; }) ==
      end) {
    throw UserError("'" + source_.path + "' is to be joined by " + shown(source_.key) +
                    ", which is no column of the log in the schema");
  }
  if (schema.missing.empty()) {
    throw UserError("the schema has no text for a missing value, which a key that '" +
                    source_.path + "' lacks needs; write missing = [\"\"]");
  }
}

}  // namespace lazydp
