// JSON lines: an example, or a complaint that points into the line.

#include "lazydp/data/text/json_lines.h"

#include "lazydp/data/schema.h"
#include "tests/fuzz/input.h"

namespace {

const char* const kSchema = R"([[column]]
name = "y"
role = "label"
positive = ["1", "true"]
[[column]]
name = "a"
role = "dense"
[[column]]
name = "u"
role = "categorical"
rows = 100
key = true
[[column]]
name = "m"
role = "multi"
rows = 50
separator = "|"
[[column]]
name = "t"
role = "categorical"
rows = 9
bucket = 60
)";

}  // namespace

void lazydp::try_input(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kLongest = 4096;
  static const Schema schema = parse_schema(kSchema, "fuzz");
  const auto parser = json_lines().make_parser(schema, kLongest, nullptr);
  Records records{RecordLayout(schema)};
  for (std::string_view text = text_of(data, size); !text.empty();) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const std::size_t before = records.size();
    const auto complaint = parser->parse(line, records);
    const std::size_t added = complaint ? 0 : 1;
    if (records.size() != before + added) std::abort();
    if (complaint && (complaint->reason.empty() || complaint->column == 0 ||
                      complaint->column > line.size() + 1)) {
      std::abort();
    }
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
}
