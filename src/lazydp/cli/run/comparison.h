#pragma once
// Several runs side by side: what differs in their settings, and what came of it.

#include <string>
#include <vector>

#include "lazydp/cli/run/run_record.h"

namespace lazydp::cli {

struct Comparison {
  using Rows = std::vector<std::vector<std::string>>;  // a label, then a text for each run

  std::vector<RunRecord> runs;

  // Returns the flags that are not the same in all runs; "-" where a run left one open.
  Rows differences() const;

  // The same with numbers as people read them.
  Rows differences_in_words() const;

  Rows results() const;

  // Returns what keeps these runs from being compared as they stand, in sentences.
  std::vector<std::string> warnings() const;

  std::string page() const;
  Json json() const;
};

}  // namespace lazydp::cli
