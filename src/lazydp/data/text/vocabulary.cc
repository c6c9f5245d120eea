// Learns which values occur often enough for rows of their own.

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "lazydp/data/text/convert.h"
#include "lazydp/data/text/line_parser.h"
#include "lazydp/data/text/lines.h"

namespace lazydp {
namespace {

// Counts of each value, by its hash; one map for each table.
using ValueCounts = std::vector<std::unordered_map<std::uint64_t, std::uint64_t>>;

// Counts the values of good lines; the others are reported when they are converted.
ValueCounts count_values(const Schema& schema, const std::vector<std::string>& inputs) {
  ValueCounts counts(schema.tables().size());
  std::vector<Lookup> lookups;
  LineParser parser(schema, std::numeric_limits<std::size_t>::max(), &lookups);
  Records records{RecordLayout(schema)};
  LineBlocks blocks(inputs);
  LineBlock block;
  while (blocks.next(block)) {
    bool header = block.starts_input && schema.header;
    for (std::string_view rest = block.text; !rest.empty(); header = false) {
      const std::size_t end = rest.find('\n');
      std::string_view line = rest.substr(0, end);
      rest.remove_prefix(end + 1);
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (header || line.empty() || line.size() > kMaxLineBytes) continue;
      lookups.clear();
      if (parser.parse(line, records)) continue;
      for (const Lookup& lookup : lookups) ++counts[lookup.table][lookup.hash];
      records.clear();
    }
  }
  return counts;
}

}  // namespace

Schema learn_vocabulary(const Schema& schema, const std::vector<std::string>& inputs,
                        std::uint64_t min_count) {
  const ValueCounts counts = count_values(schema, inputs);
  Schema learned = schema;
  std::size_t table = 0;
  for (Column& column : learned.columns) {
    if (column.role != Role::categorical && column.role != Role::multi) continue;
    column.vocabulary.clear();
    for (const auto& [hash, count] : counts[table]) {
      if (count >= min_count) column.vocabulary.push_back(hash);
    }
    std::ranges::sort(column.vocabulary);
    column.rows = column.vocabulary.size() + kFirstVocabularyRow;
    ++table;
  }
  learned.from_data = "the values that occur at least " + std::to_string(min_count) +
                      " times have rows of their own";
  learned.validate();
  return learned;
}

}  // namespace lazydp
