// Learns which values occur often enough for rows of their own.

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "lazydp/data/text/convert.h"
#include "lazydp/data/text/lines.h"

namespace lazydp {
namespace {

// Counts of each value, by its hash; one map for each table.
using ValueCounts = std::vector<std::unordered_map<std::uint64_t, std::uint64_t>>;

// Counts the values of good lines; the others are reported when they are converted.
ValueCounts count_values(const Schema& schema, const std::vector<std::string>& inputs,
                         const TextFormat& format) {
  ValueCounts counts(schema.tables().size());
  std::vector<Lookup> lookups;
  const auto parser = format.make_parser(schema, std::numeric_limits<std::size_t>::max(), &lookups);
  Records records{RecordLayout(schema)};
  LineBlocks blocks(inputs, format.rules);
  LineBlock block;
  while (blocks.next(block)) {
    bool first = block.starts_input;
    for (std::string_view rest = block.text; !rest.empty(); first = false) {
      const std::size_t length = format.rules.ends.first(rest, true);
      std::string_view record = rest.substr(0, length - 1);
      rest.remove_prefix(length);
      if (record.ends_with('\r')) record.remove_suffix(1);
      if (record.empty() || record.size() > kMaxLineBytes || (!first && parser->is_header(record)))
        continue;
      lookups.clear();
      if (first ? parser->parse_first(record, records) : parser->parse(record, records)) continue;
      for (const Lookup& lookup : lookups) ++counts[lookup.table][lookup.hash];
      records.clear();
    }
  }
  return counts;
}

}  // namespace

Schema learn_vocabulary(const Schema& schema, const std::vector<std::string>& inputs,
                        std::uint64_t min_count, const TextFormat& format) {
  const ValueCounts counts = count_values(schema, inputs, format);
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
