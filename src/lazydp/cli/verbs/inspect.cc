// lazydp inspect: describes the contents of a data file, or of a folder.

#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <numeric>

#include "lazydp/base/text/number_text.h"
#include "lazydp/cli/options/run_options.h"
#include "lazydp/cli/output.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/cli/verbs/verbs.h"
#include "lazydp/data/file/data_file.h"
#include "lazydp/data/schema.h"
#include "lazydp/data/schema_json.h"

namespace lazydp::cli {
namespace {

std::string in_words(const Column& column) {
  std::string text;
  if (column.role == Role::dense) {
    text =
        std::string("number, ") + (column.transform == Transform::log ? "log(1 + x)" : "as it is");
  } else if (column.role == Role::categorical || column.role == Role::multi) {
    text = with_commas(static_cast<double>(column.rows)) + " rows";
    if (column.role == Role::multi) text += ", several values between '" + column.separator + "'";
    if (!column.vocabulary.empty()) text += " for a vocabulary";
    if (column.bucket > 0.0) text += ", number in buckets of " + shortest(column.bucket);
  } else if (column.positive_from) {
    text = "positive from " + shortest(*column.positive_from);
  } else if (column.role == Role::label) {
    for (const std::string& value : column.positive) {
      text += (text.empty() ? "positive: " : ", ") + value;
    }
  }
  if (column.key) text += text.empty() ? "key" : ", key";
  return text;
}

std::string holes_in_words(const DataFile& data) {
  const std::uint64_t holes = data.places() - data.size();
  if (holes == 0) return "";
  return "  " + with_commas(static_cast<double>(holes)) +
         " holes where lines stood that are no examples\n";
}

void print(std::ostream& out, const DataFile& data) {
  const FileHeader& header = data.header();
  const auto examples = static_cast<double>(data.size());
  out << data.path() << ": data file version " << header.version << ", from "
      << data.schema().source << "\n"
      << "  " << with_commas(examples) << " examples, "
      << fixed(100.0 * static_cast<double>(header.positives) / std::max(1.0, examples), 2)
      << " % of them positive\n"
      << holes_in_words(data) << "  " << human_bytes(static_cast<double>(data.bytes())) << ": "
      << with_commas(static_cast<double>(header.pages)) << " pages of "
      << with_commas(header.page_bytes) << " bytes\n"
      << "  hashed with the public salt " << data.schema().salt << "\n";
  if (!data.schema().from_data.empty()) {
    out << "  taken from the data, and so not covered by epsilon: " << data.schema().from_data
        << "\n";
  }
  for (const Column& column : data.schema().columns) {
    out << "  " << std::left << std::setw(20) << column.name << std::setw(13)
        << role_name(column.role) << in_words(column) << "\n";
  }
}

void print_examples(std::ostream& out, const Batch& batch) {
  for (std::size_t i = 0; i < batch.size; ++i) {
    out << "  " << i << ": label " << batch.labels[i] << "; dense";
    for (const float value : batch.dense.row(i)) out << " " << shortest(double{value});
    out << "; rows";
    for (const Bags& bags : batch.bags) {
      out << " ";
      for (std::size_t j = 0; j < bags.length(i); ++j) out << (j > 0 ? "," : "") << bags.of(i)[j];
    }
    out << "\n";
  }
}

}  // namespace

void inspect(const FlagTexts& given) {
  choose_threads(given);
  std::error_code ignored;
  if (std::filesystem::is_directory(given.operands.front(), ignored)) {
    inspect_folder(given);
    return;
  }
  const DataFile data(given.operands.front());
  constexpr std::uint64_t kMostShown = 1'000'000'000;
  std::vector<ExampleId> shown(
      std::min(data.size(), given.show ? whole_number("show", *given.show, 0, kMostShown) : 0));
  std::iota(shown.begin(), shown.end(), ExampleId{0});
  const Output output(given);
  if (given.verify) data.check_all_pages();
  Batch batch;
  data.read(shown, batch);
  if (std::ostream* out = output.report()) {
    print(*out, data);
    print_examples(*out, batch);
    if (given.verify) *out << "  every page is what was written\n";
  }
  output.write({{"examples", data.size()},
                {"positives", data.header().positives},
                {"holes", data.places() - data.size()},
                {"file_bytes", data.bytes()},
                {"pages", data.header().pages},
                {"page_bytes", data.header().page_bytes},
                {"version", data.header().version},
                {"verified", given.verify.has_value()},
                {"schema", json_of(data.schema())}});
}

}  // namespace lazydp::cli
