// Second files that are joined to a log, and schemas that are guessed of the two: rows of the right
// length, examples in range, or an error in words.

#include "lazydp/data/text/joined_table.h"

#include "lazydp/data/text/guess_schema.h"
#include "lazydp/data/text/line_parser.h"
#include "tests/fuzz/input.h"

namespace {

// The columns a and m are the second file's.
const char* const kSchema = R"(header = true
missing = ["", "?"]
[[column]]
name = "u"
role = "categorical"
rows = 100
[[column]]
name = "y"
role = "label"
positive = "1"
[[column]]
name = "a"
role = "dense"
[[column]]
name = "m"
role = "multi"
rows = 50
separator = "|"
)";

}  // namespace

void lazydp::try_input(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kLongest = 4096;
  static const Schema schema = parse_schema(kSchema, "fuzz");
  static const MemoryFile file;
  static const MemoryFile log;
  file.put(text_of(data, size));
  const JoinSource source{file.path(), "u"};
  refuses_or([&] {
    const auto table = std::make_shared<const JoinedTable>(source, schema);
    if (table->size() == 0 || table->columns().empty()) std::abort();
    const TextFormat format = separated_text(schema, table);
    const auto parser = format.make_parser(schema, kLongest, nullptr);
    Records records{RecordLayout(schema)};
    std::size_t examples = 0;
    for (const std::string_view line : {"u1,1", ",0", "\"u,2\",1"}) {
      const auto complaint = parser->parse(line, records);
      if (complaint && complaint->reason.empty()) std::abort();
      examples += complaint ? 0 : 1;
    }
    if (records.size() != examples) std::abort();
  });
  if (size % 2 == 0) return;  // a guess takes as long as all that was before
  refuses_or([&] {
    log.put("u,y\nu1,1\nu2,0\n");
    const Guess guess = guess_schema(log.path(), &source);
    parse_schema(guess.comment + schema_text(guess.schema), "guess").validate();
  });
  refuses_or([&] {
    const Guess guess = guess_schema(file.path());
    parse_schema(guess.comment + schema_text(guess.schema), "guess").validate();
  });
}
