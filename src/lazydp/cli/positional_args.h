#pragma once
// The files that stand beside the flags of a verb.

#include <string>
#include <vector>

#include "lazydp/cli/flags.h"

namespace lazydp::cli {

struct InputsAndOutput {
  std::vector<std::string> inputs;
  std::string output;
};

// All but the last, and the last. UserError if the output is one of the inputs, or a file that is
// there and is no data file: somebody may have forgotten to name one.
InputsAndOutput inputs_and_output(const Given& given);

// UserError if `path` is there and is no data file.
void refuse_to_replace(const std::string& path);

}  // namespace lazydp::cli
