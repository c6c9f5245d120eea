// lazydp convert criteo, lazydp convert csv: converts text to a data file.

#include "lazydp/data/text/convert.h"

#include <algorithm>
#include <iostream>
#include <limits>
#include <string>
#include <string_view>

#include "lazydp/base/io/mapped_file.h"
#include "lazydp/base/memory.h"
#include "lazydp/base/stages.h"
#include "lazydp/base/text/number_text.h"
#include "lazydp/cli/options/model_and_data_options.h"
#include "lazydp/cli/options/run_options.h"
#include "lazydp/cli/output.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/cli/verbs/verbs.h"
#include "lazydp/data/file/data_file.h"
#include "lazydp/data/file/file_layout.h"
#include "lazydp/data/schema.h"
#include "lazydp/data/text/guess_schema.h"

namespace lazydp::cli {

namespace {

// Throws UserError for a file that is no schema, IoError for one that cannot be read.
Schema read_schema(const std::string& path) {
  const MappedFile file(path, MappedFile::Access::sequential);
  const std::span<const std::byte> bytes = file.bytes();
  if (bytes.size() >= sizeof kFileMagic && load<std::uint64_t>(bytes.data()) == kFileMagic) {
    return DataFile(path).schema();
  }
  return parse_schema({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

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
  out << output << ": " << with_commas(static_cast<double>(done.examples)) << " examples, "
      << with_commas(static_cast<double>(done.positives)) << " of them positive; "
      << with_commas(static_cast<double>(done.bad)) << " bad and "
      << with_commas(static_cast<double>(done.blank)) << " blank lines left out\n"
      << "  " << human_bytes(bytes) << " of text became "
      << human_bytes(static_cast<double>(done.file_bytes)) << " in " << human_duration(seconds)
      << ", " << human_bytes(bytes / seconds) << "/s\n";
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
Schema with_vocabulary(const FlagTexts& given, const Schema& schema, const InputsAndOutput& files) {
  const std::uint64_t least = whole_number("min-count", *given.min_count, 1, kAnyNumber);
  if (std::ranges::find(files.inputs, "-") != files.inputs.end()) {
    throw UserError("min-count is given, and an input is '-'; what is read twice must be a file");
  }
  std::cerr << "lazydp: which values have rows is then taken from the data; that is not covered "
               "by epsilon\n";
  return learn_vocabulary(schema, files.inputs, least);
}

void convert_with(const FlagTexts& given, const Schema& schema, const InputsAndOutput& files) {
  choose_threads(given);
  ConvertOptions options{.inputs = files.inputs, .output = files.output, .schema = schema};
  if (given.min_count) options.schema = with_vocabulary(given, schema, files);
  if (given.max_bad_lines) {
    options.max_bad_lines = whole_number("max-bad-lines", *given.max_bad_lines, 0, kAnyNumber);
  }
  const Output output(given);
  ConvertProgress progress(Progress::style(given.quiet.has_value()));
  const Stopwatch clock;
  const Conversion done = convert(options, [&](const Conversion& so_far) { progress(so_far); });
  progress.end();
  print_bad_lines(done);
  if (done.stopped) {
    throw UserError("there are bad lines (" + std::to_string(done.bad) + " in the first " +
                    std::to_string(done.lines) + "), and at most " +
                    std::to_string(options.max_bad_lines) +
                    " may be left out (--max-bad-lines); nothing was written");
  }
  const double seconds = clock.seconds();
  if (std::ostream* out = output.report()) print(*out, done, files.output, seconds);
  output.write(json_of(done, files.output, seconds));
}

void choose_salt(const FlagTexts& given, Schema& schema) {
  if (given.salt) schema.salt = whole_number("salt", *given.salt, 0, kAnyNumber);
}

void guess(const FlagTexts& given) {
  const InputsAndOutput files = inputs_and_output(given);
  if (files.inputs.size() != 1) throw UserError("--guess looks at one input; name IN and OUT");
  const OutputFile out(files.output);
  const Guess guess = guess_schema(files.inputs.front());
  out.write(guess.comment + schema_text(guess.schema));
  std::cout << files.output << ": a first schema of " << guess.schema.columns.size()
            << " columns, from " << with_commas(static_cast<double>(guess.lines))
            << " lines; look at it before you use it\n";
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
  convert_with(given, schema, files);
}

void convert_csv(const FlagTexts& given) {
  if (given.guess && given.schema) {
    throw UserError("schema is '" + *given.schema +
                    "', but --guess makes one; give one of the two");
  }
  if (given.guess) return guess(given);
  if (!given.schema) {
    throw UserError("no schema is given; say --schema FILE, and --guess to get a first one");
  }
  const InputsAndOutput files = inputs_and_output(given);
  Schema schema = read_schema(*given.schema);
  choose_salt(given, schema);
  convert_with(given, schema, files);
}

}  // namespace lazydp::cli
