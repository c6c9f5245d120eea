#include "lazydp/data/text/convert.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/data/file/data_file_writer.h"
#include "lazydp/data/text/lines.h"

namespace lazydp {
namespace {

constexpr std::size_t kParts = 16;  // parts of a block, for threads to share

struct LocalBad {
  std::uint64_t line;  // line within the part, from 0
  Complaint complaint;
};

// The examples and bad lines of one part of a block.
class Part {
 public:
  Part(const Schema& schema, const TextFormat& format, std::size_t longest_record)
      : expects_header_(schema.header && !format.rules.json),
        format_ends_(format.rules.ends),
        parser_(format.make_parser(schema, longest_record, nullptr)),
        records_(RecordLayout(schema)) {}

  void parse(std::string_view text, bool starts_input) {
    records_.clear();
    bad_.clear();
    holes_.clear();
    lines_ = blank_ = bad_count_ = headers_ = without_header_ = 0;
    // Searches lines for NULs, and records for quotes, only if the part has any.
    const auto has = [text](char c) {
      return !text.empty() && std::memchr(text.data(), c, text.size()) != nullptr;
    };
    const bool nuls = has('\0');
    ends_ = format_ends_.quotes() && has('"') ? format_ends_ : RecordEnds();
    for (bool first = starts_input; !text.empty(); first = false) {
      const std::size_t length = ends_.first(text, true);
      std::string_view record = text.substr(0, length - 1);
      text.remove_prefix(length);
      if (record.ends_with('\r')) record.remove_suffix(1);
      if (record.empty()) {
        ++blank_;
        leave_hole();
      } else if (std::optional<Complaint> complaint = parse_record(record, first, nuls)) {
        complain(record, std::move(*complaint));
      }
      lines_ += 1 + newlines_in(record);
    }
  }

  // Adds a bad line behind the others, whose contents were not kept.
  void add_too_long_line() {
    complain({}, {1, "the line is longer than " + std::to_string(kMaxLineBytes) + " bytes"});
    ++lines_;
  }

  std::uint64_t lines() const { return lines_; }
  std::uint64_t blank() const { return blank_; }
  std::uint64_t headers() const { return headers_; }
  std::uint64_t without_header() const { return without_header_; }
  std::uint64_t missing_keys() const { return parser_->missing_keys(); }  // since it was made
  std::uint64_t bad_count() const { return bad_count_; }
  std::vector<bool> columns_seen() const { return parser_->columns_seen(); }
  const std::vector<LocalBad>& bad() const { return bad_; }

  // The places at which there is no example, of all those at which there could be one.
  const std::vector<std::uint64_t>& holes() const { return holes_; }
  std::uint64_t places() const { return records_.size() + holes_.size(); }
  const Records& records() const { return records_; }

 private:
  // Lines are counted only where a record may have several.
  std::uint64_t newlines_in(std::string_view record) const {
    return ends_.quotes() ? static_cast<std::uint64_t>(std::ranges::count(record, '\n')) : 0;
  }

  std::optional<Complaint> parse_record(std::string_view line, bool first, bool nuls) {
    if (line.size() > kMaxLineBytes) {
      return Complaint{1, "the line is longer than " + std::to_string(kMaxLineBytes) + " bytes"};
    }
    if (nuls) {
      const std::size_t nul = line.find('\0');
      if (nul != std::string_view::npos) return Complaint{nul + 1, "the line holds a NUL byte"};
    }
    if (first) return parse_first(line);
    if (!parser_->is_header(line)) return parser_->parse(line, records_);
    ++headers_;
    leave_hole();  // a line of the log, were it blank, would leave one too
    return std::nullopt;
  }

  void leave_hole() { holes_.push_back(places()); }

  std::optional<Complaint> parse_first(std::string_view line) {
    std::optional<Complaint> complaint = parser_->parse_first(line, records_);
    const bool header = !complaint && records_.size() == 0;
    headers_ += header ? 1 : 0;
    without_header_ += expects_header_ && !header ? 1 : 0;
    return complaint;
  }

  // Points to the line of the record in which the offending character stands.
  void complain(std::string_view record, Complaint complaint) {
    leave_hole();
    ++bad_count_;
    if (bad_.size() >= kShownBadLines) return;
    const std::string_view before = record.substr(0, complaint.column - 1);
    const std::uint64_t line = lines_ + newlines_in(before);
    if (line > lines_) complaint.column -= before.rfind('\n') + 1;
    bad_.push_back({line, std::move(complaint)});
  }

  bool expects_header_;
  RecordEnds format_ends_;
  RecordEnds ends_;  // of the part: without a quote in it, every line is a record
  std::unique_ptr<ExampleParser> parser_;
  Records records_;
  std::uint64_t lines_ = 0;
  std::uint64_t blank_ = 0;
  std::uint64_t bad_count_ = 0;
  std::uint64_t headers_ = 0;
  std::uint64_t without_header_ = 0;
  std::vector<LocalBad> bad_;
  std::vector<std::uint64_t> holes_;
};

// A block and the results of its parts.
struct Stage {
  LineBlock block;
  bool full = false;
  std::vector<std::string_view> texts;
  std::vector<std::unique_ptr<Part>> parts;

  void cut() { texts = block.parts(kParts); }
};

// Runs three stages at once in every round: reads a block, parses the parts of the one before, and
// writes the examples of the one before that.
class Converter {
 public:
  Converter(const ConvertOptions& options, const TextFormat& format)
      : options_(options),
        layout_(options.schema),
        page_bytes_(options.page_bytes != 0 ? options.page_bytes
                                            : DataFileWriter::usual_page_bytes(layout_)),
        writer_(options.output, options.schema, page_bytes_),
        blocks_(options.inputs, format.rules) {
    for (Stage& stage : stages_) {
      for (std::size_t i = 0; i < kParts; ++i) {
        stage.parts.push_back(std::make_unique<Part>(
            options.schema, format, DataFileWriter::longest_record(layout_, page_bytes_)));
      }
    }
  }

  Conversion run(const std::function<void(const Conversion&)>& progress) {
    for (std::size_t round = 0; round < 3 || parsing_was_full_ || reading_was_full_; ++round) {
      step(stages_[round % 3], stages_[(round + 2) % 3], stages_[(round + 1) % 3]);
      if (result_.bad > options_.max_bad_lines) {
        result_.stopped = true;
        return result_;
      }
      if (progress) progress(result_);
    }
    if (writer_.examples() == 0) {
      throw UserError("there is not one example in " + options_.inputs.front() +
                      (options_.inputs.size() > 1 ? " and the other inputs" : ""));
    }
    require_all_columns();
    writer_.commit();
    result_.file_bytes = writer_.file_bytes();
    return result_;
  }

 private:
  void step(Stage& reading, Stage& parsing, Stage& writing) {
    if (parsing.full) parsing.cut();
    const std::size_t parts = parsing.full ? std::max<std::size_t>(1, parsing.texts.size()) : 0;
    parallel_for(parts + 2, [&](std::size_t task) {
      if (task == 0) {
        reading.full = blocks_.next(reading.block);
      } else if (task == 1) {
        if (writing.full) write(writing);
      } else {
        parse(parsing, task - 2);
      }
    });
    reading_was_full_ = reading.full;
    parsing_was_full_ = parsing.full;
    result_.text_bytes = blocks_.text_bytes();
    result_.packed_bytes = blocks_.packed_bytes();
  }

  static void parse(Stage& stage, std::size_t i) {
    const bool last = i + 1 >= stage.texts.size();
    stage.parts[i]->parse(i < stage.texts.size() ? stage.texts[i] : std::string_view(),
                          i == 0 && stage.block.starts_input);
    if (last && stage.block.then_too_long) stage.parts[i]->add_too_long_line();
  }

  // A column that no record has is not missing from the data, but wrong in the schema.
  void require_all_columns() {
    std::vector<bool> seen;
    for (const Stage& stage : stages_) {
      for (const auto& part : stage.parts) {
        result_.missing_keys += part->missing_keys();
        const std::vector<bool> here = part->columns_seen();
        seen.resize(here.size());
        for (std::size_t i = 0; i < here.size(); ++i) seen[i] = seen[i] || here[i];
      }
    }
    const auto unseen = std::ranges::find(seen, false);
    if (unseen == seen.end()) return;
    throw UserError("no record has '" +
                    options_.schema.columns[static_cast<std::size_t>(unseen - seen.begin())].name +
                    "', a column of the schema; give it role = \"ignore\" if that is so");
  }

  // An input with other columns is not a bad line but an error: all of its lines would be misread.
  [[noreturn]] static void refuse_input(const BadLine& bad) {
    throw UserError(bad.input + ":" + std::to_string(bad.line) + ":" + std::to_string(bad.column) +
                    ": " + bad.reason + "; nothing was written");
  }

  void write(Stage& stage) {
    if (stage.block.starts_input) line_ = 0;
    const std::size_t parts = std::max<std::size_t>(1, stage.texts.size());
    for (std::size_t i = 0; i < parts; ++i) {
      const Part& part = *stage.parts[i];
      for (const LocalBad& bad : part.bad()) {
        const BadLine shown{.input = options_.inputs[stage.block.input],
                            .line = line_ + bad.line + 1,
                            .column = bad.complaint.column,
                            .reason = bad.complaint.reason};
        if (bad.complaint.of_input) refuse_input(shown);
        if (result_.first_bad.size() < kShownBadLines) result_.first_bad.push_back(shown);
      }
      line_ += part.lines();
      result_.lines += part.lines();
      result_.blank += part.blank();
      result_.headers += part.headers();
      result_.without_header += part.without_header();
      result_.bad += part.bad_count();
      for (const std::uint64_t hole : part.holes()) writer_.leave_hole(place_ + hole);
      place_ += part.places();
      writer_.append(part.records());
    }
    result_.examples = writer_.examples();
    result_.positives = writer_.positives();
  }

  const ConvertOptions& options_;
  RecordLayout layout_;
  std::uint32_t page_bytes_;
  DataFileWriter writer_;
  LineBlocks blocks_;
  std::array<Stage, 3> stages_;
  bool reading_was_full_ = false;
  bool parsing_was_full_ = false;
  std::uint64_t line_ = 0;   // line number in the input that is being written
  std::uint64_t place_ = 0;  // of the next example, over all inputs
  Conversion result_;
};

}  // namespace

Conversion convert(const ConvertOptions& options,
                   const std::function<void(const Conversion&)>& progress) {
  options.schema.validate();
  const TextFormat format = options.format ? *options.format : separated_text(options.schema);
  return Converter(options, format).run(progress);
}

}  // namespace lazydp
