#include "lazydp/data/text/file_kind.h"

#include <algorithm>
#include <array>

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kConvertIt =
    "convert it with lazydp convert parquet or, in Python, lazydp.convert";
constexpr std::string_view kUnpackIt = "unpack it first; gzip and zstd are unpacked on the way";

struct Start {
  std::string_view bytes;
  FileKind kind;
};

constexpr std::array kStarts = {
    Start{"PAR1"sv, {"a Parquet file", kConvertIt}},
    Start{"ARROW1"sv, {"an Arrow file", "convert it in Python with lazydp.convert"}},
    Start{"PK\x03\x04"sv,
          {"a zip file",
           "unpack it first (unzip -p FILE | lazydp convert csv … - OUT); if it is a "
           "spreadsheet, save it as CSV"}},
    Start{"BZh"sv, {"a bzip2 file", kUnpackIt}},
    Start{"\xfd"
          "7zXZ\0"sv,
          {"an xz file", kUnpackIt}},
    Start{"7z\xbc\xaf\x27\x1c"sv, {"a 7-Zip file", kUnpackIt}},
    Start{"Obj\x01"sv, {"an Avro file", "write it as CSV, JSON lines or Parquet"}},
    Start{"SQLite format 3\0"sv, {"an SQLite database", "write the table as CSV first"}},
    Start{"\xff\xfe"sv, {"text in UTF-16", "make it UTF-8 first: iconv -f UTF-16 -t UTF-8"}},
    Start{"\xfe\xff"sv, {"text in UTF-16", "make it UTF-8 first: iconv -f UTF-16 -t UTF-8"}}};

constexpr FileKind kJson = {"JSON", "convert it with lazydp convert jsonl, an object a line", true};

std::string_view without_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return text;
}

// Returns whether a JSON object, or a list of them, starts here. A value in braces does not look
// like one: an object starts with a quoted name, or ends at once.
bool starts_json(std::string_view text) {
  text = without_blanks(text);
  if (text.starts_with('[')) text = without_blanks(text.substr(1));
  if (!text.starts_with('{')) return false;
  text = without_blanks(text.substr(1));
  return text.starts_with('"') || text.starts_with('}');
}

}  // namespace

const FileKind* file_kind(std::string_view first) {
  for (const Start& start : kStarts) {
    if (first.starts_with(start.bytes)) return &start.kind;
  }
  return starts_json(first) ? &kJson : nullptr;
}

void require_text(std::string_view first, const std::string& input, bool json) {
  const FileKind* kind = file_kind(first);
  if (kind == nullptr || (json && kind->json)) return;
  const std::string name = input == "-" ? "standard input" : "'" + input + "'";
  throw UserError(name + " is " + std::string(kind->name) + ", not " +
                  (json ? "JSON lines" : "separated text") + "; " + std::string(kind->advice));
}

}  // namespace lazydp
