// lazydp convert criteo, csv, jsonl, parquet: converts a log to a data file.

#include "lazydp/data/text/convert.h"

#include <algorithm>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lazydp/base/memory.h"
#include "lazydp/base/stages.h"
#include "lazydp/base/text/number_text.h"
#include "lazydp/cli/options/model_and_data_options.h"
#include "lazydp/cli/options/run_options.h"
#include "lazydp/cli/output.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/cli/verbs/verbs.h"
#include "lazydp/data/arrow/convert_arrow.h"
#include "lazydp/data/arrow/parquet.h"
#include "lazydp/data/file/data_file.h"
#include "lazydp/data/schema.h"
#include "lazydp/data/text/guess_schema.h"
#include "lazydp/data/text/json_lines.h"

namespace lazydp::cli {

namespace {

constexpr std::uint64_t kAnyNumber = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kCriteoRows = 100'000;

// A progress line, on a terminal only.
class ConvertProgress {
 public:
  explicit ConvertProgress(Progress::Style style) : live_(style == Progress::Style::live) {}

  void operator()(const Conversion& so_far) {
    constexpr double kRedraw = 0.2;
    if (!live_ || clock_.seconds() - drawn_at_ < kRedraw) return;
    drawn_at_ = clock_.seconds();
    const auto bytes = static_cast<double>(so_far.text_bytes);
    std::cerr << "\r\033[K  " << with_commas(static_cast<double>(so_far.examples)) << " examples, "
              << human_bytes(bytes) << ", " << human_bytes(bytes / drawn_at_) << "/s" << std::flush;
  }
  void end() const {
    if (live_ && drawn_at_ > 0.0) std::cerr << "\r\033[K" << std::flush;
  }

 private:
  bool live_;
  Stopwatch clock_;
  double drawn_at_ = 0.0;
};

Json json_of(const Conversion& done, const std::string& output, double seconds) {
  Json bad = Json::array();
  for (const BadLine& line : done.first_bad) {
    bad.push_back({{"input", line.input},
                   {"line", line.line},
                   {"column", line.column},
                   {"reason", line.reason}});
  }
  return {{"output", output},
          {"lines", done.lines},
          {"examples", done.examples},
          {"positives", done.positives},
          {"blank_lines", done.blank},
          {"header_lines", done.headers},
          {"inputs_without_header", done.without_header},
          {"missing_keys", done.missing_keys},
          {"bad_lines", done.bad},
          {"first_bad_lines", bad},
          {"text_bytes", done.text_bytes},
          {"packed_bytes", done.packed_bytes},
          {"file_bytes", done.file_bytes},
          {"peak_rss_bytes", peak_resident_memory()},
          {"seconds", seconds},
          {"text_mb_per_second", static_cast<double>(done.text_bytes) / 1e6 / seconds}};
}

void print(std::ostream& out, const Conversion& done, const std::string& output, double seconds) {
  const auto bytes = static_cast<double>(done.text_bytes);
  const auto count = [](std::uint64_t n) { return with_commas(static_cast<double>(n)); };
  out << output << ": " << with_commas(static_cast<double>(done.examples)) << " examples, "
      << with_commas(static_cast<double>(done.positives)) << " of them positive; "
      << with_commas(static_cast<double>(done.bad)) << " bad and "
      << with_commas(static_cast<double>(done.blank)) << " blank lines left out\n";
  if (done.without_header > 0) {
    out << "  " << count(done.without_header)
        << " of the inputs do not begin with the header; their first lines are examples\n";
  }
  if (done.missing_keys > 0) {
    out << "  the joined file has no row for the keys of " << count(done.missing_keys)
        << " examples; what it would add is missing there\n";
  }
  const std::string size = human_bytes(static_cast<double>(done.file_bytes));
  if (done.text_bytes == 0) {  // not of text
    out << "  " << size << " in " << human_duration(seconds) << "\n";
    return;
  }
  out << "  " << human_bytes(bytes) << " of text became " << size << " in "
      << human_duration(seconds) << ", " << human_bytes(bytes / seconds) << "/s\n";
}

void print_bad_lines(const Conversion& done) {
  for (const BadLine& bad : done.first_bad) {
    std::cerr << bad.input << ":" << bad.line << ":" << bad.column << ": " << bad.reason << "\n";
  }
  if (done.bad > done.first_bad.size()) {
    std::cerr << "and " << done.bad - done.first_bad.size() << " more\n";
  }
}

// Adds a vocabulary; the inputs are then read twice.
Schema with_vocabulary(const FlagTexts& given, const Schema& schema, const TextFormat& format,
                       const InputsAndOutput& files) {
  const std::uint64_t least = whole_number("min-count", *given.min_count, 1, kAnyNumber);
  if (std::ranges::find(files.inputs, "-") != files.inputs.end()) {
    throw UserError("min-count is given, and an input is '-'; what is read twice must be a file");
  }
  if (!given.quiet)
    std::cerr << "lazydp: which values have rows is then taken from the data; that is not covered "
                 "by epsilon\n";
  return learn_vocabulary(schema, files.inputs, least, format);
}

// What a conversion is told, whatever it reads.
struct Work {
  const FlagTexts& given;
  const InputsAndOutput& files;
  std::uint64_t max_bad_lines = 0;
};

using Progressed = std::function<void(const Conversion&)>;

// Converts by `run`, with progress, and reports.
void carry_out(const Work& work, const std::function<Conversion(const Progressed&)>& run) {
  const FlagTexts& given = work.given;
  const Output output(given);
  ConvertProgress progress(Progress::style(given.quiet.has_value()));
  const Stopwatch clock;
  const Conversion done = run([&](const Conversion& so_far) { progress(so_far); });
  progress.end();
  if (done.stopped || output.report() != nullptr) print_bad_lines(done);
  if (done.stopped) {
    throw UserError("there are bad lines (" + std::to_string(done.bad) + " in the first " +
                    std::to_string(done.lines) + "), and at most " +
                    std::to_string(work.max_bad_lines) +
                    " may be left out (--max-bad-lines); nothing was written");
  }
  const double seconds = clock.seconds();
  if (std::ostream* out = output.report()) print(*out, done, work.files.output, seconds);
  output.write(json_of(done, work.files.output, seconds));
}

std::uint64_t max_bad_lines(const FlagTexts& given) {
  if (!given.max_bad_lines) return 0;
  return whole_number("max-bad-lines", *given.max_bad_lines, 0, kAnyNumber);
}

void convert_with(const FlagTexts& given, const Schema& schema, const TextFormat& format,
                  const InputsAndOutput& files) {
  choose_threads(given);
  ConvertOptions options{
      .inputs = files.inputs, .output = files.output, .schema = schema, .format = format};
  if (given.min_count) options.schema = with_vocabulary(given, schema, format, files);
  options.max_bad_lines = max_bad_lines(given);
  carry_out({given, files, options.max_bad_lines},
            [&](const Progressed& progress) { return convert(options, progress); });
}

void choose_salt(const FlagTexts& given, Schema& schema) {
  if (given.salt) schema.salt = whole_number("salt", *given.salt, 0, kAnyNumber);
}

JoinSource join_source(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size() || text[0] == '-') {
    throw UserError("join is '" + text + "'; it must be FILE:COLUMN, for example movies.csv:movie");
  }
  return {text.substr(0, colon), text.substr(colon + 1)};
}

// Returns the schema that --schema names, with the salt that is given.
Schema given_schema(const FlagTexts& given) {
  if (!given.schema) {
    throw UserError(
        "no schema is given; say --schema FILE; lazydp convert csv --guess makes a first one");
  }
  Schema schema = read_schema(*given.schema);
  choose_salt(given, schema);
  return schema;
}

void guess(const FlagTexts& given) {
  const InputsAndOutput files = inputs_and_output(given);
  if (files.inputs.size() != 1) throw UserError("--guess looks at one input; name IN and OUT");
  const OutputFile out(files.output);
  std::optional<JoinSource> join;
  if (given.join) join = join_source(*given.join);
  const Guess guess = guess_schema(files.inputs.front(), join ? &*join : nullptr);
  out.write(guess.comment + schema_text(guess.schema));
  const Output output(given);
  std::ostream* report = output.report();
  if (report == nullptr) return;
  for (const std::string& note : guess.notes) *report << note << "\n";
  *report << files.output << ": a first schema of " << guess.schema.columns.size()
          << " columns, from " << with_commas(static_cast<double>(guess.lines))
          << " lines; look at it before you use it (what it took from the data is not covered by "
             "epsilon)\n";
}

}  // namespace

void convert_criteo(const FlagTexts& given) {
  const InputsAndOutput files = inputs_and_output(given);
  if (given.schema && given.rows) {
    throw UserError("schema and rows are both given; the schema says how many rows there are");
  }
  std::vector<std::uint64_t> rows = {kCriteoRows};
  if (given.rows) {
    const std::vector<RowId> list = parse_rows(*given.rows);
    rows.assign(list.begin(), list.end());
  }
  Schema schema = given.schema ? read_schema(*given.schema) : criteo_schema(rows, 0);
  choose_salt(given, schema);
  convert_with(given, schema, separated_text(schema), files);
}

void convert_csv(const FlagTexts& given) {
  if (given.guess && given.schema) {
    throw UserError("schema is '" + *given.schema +
                    "', but --guess makes one; give one of the two");
  }
  if (given.guess) return guess(given);
  const InputsAndOutput files = inputs_and_output(given);
  const Schema schema = given_schema(given);
  std::shared_ptr<const JoinedTable> joined;
  if (given.join) joined = std::make_shared<JoinedTable>(join_source(*given.join), schema);
  convert_with(given, schema, separated_text(schema, joined), files);
}

void convert_jsonl(const FlagTexts& given) {
  const InputsAndOutput files = inputs_and_output(given);
  convert_with(given, given_schema(given), json_lines(), files);
}

void convert_parquet(const FlagTexts& given) {
  choose_threads(given);
  const InputsAndOutput files = inputs_and_output(given);
  const ConvertArrowOptions options{
      .output = files.output, .schema = given_schema(given), .max_bad_rows = max_bad_lines(given)};
  const auto next = [&](std::size_t i, ArrowArrayStream& out) -> std::string {
    if (i == files.inputs.size()) return {};
    if (files.inputs[i] == "-") {
      throw UserError("an input is '-'; Parquet begins at the end, so it must be a file");
    }
    open_parquet(files.inputs[i], options.schema, out);
    return files.inputs[i];
  };
  carry_out({given, files, options.max_bad_rows},
            [&](const Progressed& progress) { return convert_arrow(options, next, progress); });
}

}  // namespace lazydp::cli
