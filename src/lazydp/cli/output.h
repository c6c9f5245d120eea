#pragma once
// Where the numbers of a verb go: a report for people, a file for machines.

#include <iostream>
#include <optional>
#include <ostream>

#include "lazydp/cli/flags.h"
#include "lazydp/cli/output_file.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/cli/progress.h"
#include "lazydp/cli/run/run_json.h"

namespace lazydp::cli {

// Made before the work begins, so that a file that cannot be written fails at the door. With
// `--json -` the report makes room on standard output.
class Output {
 public:
  explicit Output(const Given& given) : quiet_(given.quiet && truth("quiet", *given.quiet)) {
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
