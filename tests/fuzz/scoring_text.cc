// Text to be scored: its examples are in range, or it is refused; and schemas as cards have them.

#include "lazydp/data/scoring_text.h"

#include "lazydp/data/schema_json.h"
#include "tests/fuzz/input.h"

namespace {

const char* const kSchema = R"(missing = ["", "?"]
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
[[column]]
name = "u"
role = "categorical"
rows = 100
)";

void check_examples(const lazydp::Batch& batch) {
  constexpr lazydp::RowId kRows[] = {50, 100};
  for (std::size_t k = 0; k < 2; ++k) {
    if (batch.bags[k].size() != batch.size) std::abort();
    for (const lazydp::RowId row : batch.bags[k].ids) {
      if (row < 0 || row >= kRows[k]) std::abort();
    }
  }
}

}  // namespace

// The first byte says whether the text begins with a header.
void lazydp::try_input(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return;
  static const Schema schema = parse_schema(kSchema, "fuzz");
  static const MemoryFile file;
  static ExampleEncoder encoder(schema);
  const std::string_view text = text_of(data + 1, size - 1);
  file.put(text);
  Batch batch;
  refuses_or([&] {
    std::string why;
    ScoringText lines(schema, {.path = file.path(), .header = data[0] % 2 == 0, .keep = {"a"}});
    while (const auto values = lines.next()) {
      if (lines.kept().size() != 1) std::abort();
      if (!encoder.add(*values, why) && why.empty()) std::abort();
    }
  });
  encoder.take(batch);
  check_examples(batch);
  refuses_or([&] {
    const Json json = Json::parse(text, nullptr, false);
    const Schema read = schema_from(json);
    if (schema_text(schema_from(json_of(read))) != schema_text(read)) std::abort();
  });
}
