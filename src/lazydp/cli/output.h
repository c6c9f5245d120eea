#pragma once
// The output of a verb: a report for people, a JSON file for machines, and colours for terminals.

#include <iostream>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "lazydp/cli/flags.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/cli/run/report.h"
#include "lazydp/report/progress.h"

namespace lazydp::cli {

// Returns whether text for this file descriptor may be coloured: it is a terminal that supports it,
// and NO_COLOR (no-color.org) is not set.
bool may_colour(int descriptor);

enum class Colour : unsigned char { heading, error };

// Returns `text` in a colour, or unchanged unless `may`.
std::string coloured(std::string_view text, Colour colour, bool may);

// Returns text whose section lines ("Training:") have the colour of headings.
std::string with_headings(std::string_view text, bool may);

// A file that is written whole or not at all. Opened before the work whose result it will hold, so
// that a path that cannot be written fails at once. Until write() nothing is left on the disk,
// however the program ends.
class OutputFile {
 public:
  // "-" means standard output. Throws IoError if the path cannot be written.
  explicit OutputFile(std::string path);

  bool is_standard_output() const { return path_ == "-"; }

  // Writes the whole text. Throws IoError, and leaves the previous contents, if it cannot be
  // written in full.
  void write(std::string_view text) const;

 private:
  std::string path_;
};

// Opened before the work begins, so that a file that cannot be written fails at once. With `--json
// -` the report goes to standard error instead of standard output.
class Output {
 public:
  explicit Output(const FlagTexts& given) : quiet_(given.quiet && truth("quiet", *given.quiet)) {
    if (given.json) json_.emplace(*given.json);
  }

  Progress progress() const { return {Progress::style(quiet_), std::cerr}; }

  // Returns the stream of the report; null for none.
  std::ostream* report() const {
    if (quiet_) return nullptr;
    return json_ && json_->is_standard_output() ? &std::cerr : &std::cout;
  }

  void write(const Json& numbers) const {
    if (!json_) return;
    // Names and values from files may hold any bytes; JSON must be UTF-8.
    json_->write(numbers.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  }
  bool wants_json() const { return json_.has_value(); }

 private:
  bool quiet_;
  std::optional<OutputFile> json_;
};

}  // namespace lazydp::cli
