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
#include "lazydp/data/text/line_parser.h"
#include "lazydp/data/text/lines.h"

namespace lazydp {
namespace {

constexpr std::size_t kShown = 5;           // bad lines shown
constexpr std::size_t kParts = 16;          // parts of a block, for threads to share
constexpr std::size_t kTypicalValues = 64;  // values in all multi columns of an example
constexpr std::uint32_t kMultiPageBytes = 64 << 10;

std::uint32_t page_bytes(const ConvertOptions& options, const RecordLayout& layout) {
  if (options.page_bytes != 0) return options.page_bytes;
  if (layout.fixed()) return layout.good_page_bytes(0);
  return std::max(kMultiPageBytes, layout.good_page_bytes(kTypicalValues));
}

struct LocalBad {
  std::uint64_t line;  // line within the part, from 0
  Complaint complaint;
};

// The examples and bad lines of one part of a block.
class Part {
 public:
  Part(const Schema& schema, std::size_t longest_record)
      : has_header_(schema.header),
        parser_(schema, longest_record),
        records_(RecordLayout(schema)) {}

  void parse(std::string_view text, bool starts_input) {
    records_.clear();
    bad_.clear();
    holes_.clear();
    lines_ = blank_ = bad_count_ = 0;
    // Searches lines for NULs only if the part has any.
    const bool nuls = !text.empty() && std::memchr(text.data(), 0, text.size()) != nullptr;
    for (bool first = starts_input; !text.empty(); first = false) {
      const std::size_t end = text.find('\n');
      std::string_view line = text.substr(0, end);
      text.remove_prefix(end + 1);
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty()) {
        ++blank_;
        if (!(first && has_header_)) leave_hole();
      } else if (std::optional<Complaint> complaint = parse_line(line, first, nuls)) {
        complain(std::move(*complaint));
      }
      ++lines_;
    }
  }

  // Adds a bad line behind the others, whose contents were not kept.
  void add_too_long_line() {
    complain({1, "the line is longer than " + std::to_string(kMaxLineBytes) + " bytes"});
    ++lines_;
  }

  std::uint64_t lines() const { return lines_; }
  std::uint64_t blank() const { return blank_; }
  std::uint64_t bad_count() const { return bad_count_; }
  const std::vector<LocalBad>& bad() const { return bad_; }

  // The places at which there is no example, of all those at which there could be one.
  const std::vector<std::uint64_t>& holes() const { return holes_; }
  std::uint64_t places() const { return records_.size() + holes_.size(); }
  const Records& records() const { return records_; }

 private:
  std::optional<Complaint> parse_line(std::string_view line, bool first, bool nuls) {
    if (line.size() > kMaxLineBytes) {
      return Complaint{1, "the line is longer than " + std::to_string(kMaxLineBytes) + " bytes"};
    }
    if (nuls) {
      const std::size_t nul = line.find('\0');
      if (nul != std::string_view::npos) return Complaint{nul + 1, "the line holds a NUL byte"};
    }
    return first && has_header_ ? parser_.parse_header(line) : parser_.parse(line, records_);
  }

  void leave_hole() { holes_.push_back(places()); }

  void complain(Complaint complaint) {
    leave_hole();
    ++bad_count_;
    if (bad_.size() < kShown) bad_.push_back({lines_, std::move(complaint)});
  }

  bool has_header_;
  LineParser parser_;
  Records records_;
  std::uint64_t lines_ = 0;
  std::uint64_t blank_ = 0;
  std::uint64_t bad_count_ = 0;
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
  explicit Converter(const ConvertOptions& options)
      : options_(options),
        layout_(options.schema),
        page_bytes_(page_bytes(options, layout_)),
        writer_(options.output, options.schema, page_bytes_),
        blocks_(options.inputs) {
    for (Stage& stage : stages_) {
      for (std::size_t i = 0; i < kParts; ++i) {
        stage.parts.push_back(std::make_unique<Part>(
            options.schema, DataFileWriter::longest_record(layout_, page_bytes_)));
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

  // An input with other columns is not a bad line but an error: all of its lines would be misread.
  [[noreturn]] static void refuse_header(const BadLine& header) {
    throw UserError(header.input + ":" + std::to_string(header.line) + ":" +
                    std::to_string(header.column) + ": " + header.reason + "; nothing was written");
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
        if (options_.schema.header && shown.line == 1) refuse_header(shown);
        if (result_.first_bad.size() < kShown) result_.first_bad.push_back(shown);
      }
      line_ += part.lines();
      result_.lines += part.lines();
      result_.blank += part.blank();
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
  return Converter(options).run(progress);
}

}  // namespace lazydp
