#pragma once
// Where the numbers of a verb go: a report for people, a file for machines.

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

// Colours for people at a terminal, and for nobody else.

// Whether what is written to this file descriptor may be coloured: it is a terminal that can, and
// NO_COLOR (no-color.org) is not set.
bool may_colour(int descriptor);

enum class Colour : unsigned char { heading, error };

// `text` in a colour, or as it is.
std::string coloured(std::string_view text, Colour colour, bool may);

// Lines that begin a section ("Training:") in the colour of headings.
std::string with_headings(std::string_view text, bool may);

// A file that is written whole or not at all.

// Made before the work whose result it will hold, so that a path that cannot be written fails at
// the door. Until write() nothing is left on the disk, however the program ends.
class OutputFile {
 public:
  // "-" means standard output. Throws IoError if the path cannot be written.
  explicit OutputFile(std::string path);

  bool is_standard_output() const { return path_ == "-"; }

  // Throws IoError, and leaves what was there before, unless all of it could be written.
  void write(std::string_view text) const;

 private:
  std::string path_;
};

// Made before the work begins, so that a file that cannot be written fails at the door. With
// `--json -` the report makes room on standard output.
class Output {
 public:
  explicit Output(const FlagTexts& given) : quiet_(given.quiet && truth("quiet", *given.quiet)) {
    if (given.json) json_.emplace(*given.json);
  }

  Progress progress() const { return {Progress::style(quiet_), std::cerr}; }

  // Where the report goes; null for nowhere.
  std::ostream* report() const {
    if (!json_ || !json_->is_standard_output()) return &std::cout;
    return quiet_ ? nullptr : &std::cerr;
  }

  void write(const Json& numbers) const {
    if (!json_) return;
    // Names and values that come from files may be anything; JSON is UTF-8.
    json_->write(numbers.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  }
  bool wants_json() const { return json_.has_value(); }

 private:
  bool quiet_;
  std::optional<OutputFile> json_;
};

}  // namespace lazydp::cli
