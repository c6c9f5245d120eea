// Lines of text: an example, or a complaint that points into the line.

#include "lazydp/data/schema.h"
#include "lazydp/data/text/line_parser.h"
#include "tests/fuzz/input.h"

namespace {

const char* const kSchemas[] = {
    R"(header = false
separator = "\t"
[[column]]
name = "y"
role = "label"
positive = ["1"]
[[column]]
name = "a"
role = "dense"
[[column]]
name = "u"
role = "categorical"
rows = 100
key = true
[[column]]
name = "v"
role = "categorical"
rows = 7
)",
    R"(header = false
separator = ","
[[column]]
name = "y"
role = "label"
positive = ["1", "yes"]
[[column]]
name = "m"
role = "multi"
rows = 50
separator = "|"
[[column]]
name = "b"
role = "dense"
transform = "none"
)"};

}  // namespace

void lazydp::try_input(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return;
  constexpr std::size_t kLongest = 4096;
  static const Schema schemas[] = {parse_schema(kSchemas[0], "fuzz"),
                                   parse_schema(kSchemas[1], "fuzz")};
  const Schema& schema = schemas[data[0] % 2];
  LineParser parser(schema, kLongest);
  Records records{RecordLayout(schema)};
  const RecordEnds ends(schema);
  const std::string whole = std::string(text_of(data + 1, size - 1)) + "\n";
  for (std::string_view text = whole; !text.empty();) {
    const std::size_t length = ends.first(text, true);
    if (length == 0 || length > text.size() || text[length - 1] != '\n') std::abort();
    std::string_view line = text.substr(0, length - 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto complaint = parser.parse(line, records);
    if (complaint && (complaint->reason.empty() || complaint->column > line.size() + 1)) {
      std::abort();
    }
    // A record of several lines was cut so because its quotes end well.
    if (line.find('\n') != std::string_view::npos && complaint &&
        complaint->reason.ends_with(" starts a quote that does not end well")) {
      std::abort();
    }
    parser.is_header(line);
    text.remove_prefix(length);
  }
  parser.parse_header(text_of(data + 1, size - 1));
}
