#include "lazydp/cli/positional_args.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "lazydp/base/error.h"
#include "lazydp/data/file/file_layout.h"

namespace lazydp::cli {
namespace {

namespace fs = std::filesystem;

bool is_data_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::uint64_t magic = 0;
  file.read(reinterpret_cast<char*>(&magic), sizeof magic);
  return file.good() && magic == kFileMagic;
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return a == b || fs::equivalent(a, b, ignored);
}

}  // namespace

void refuse_to_replace(const std::string& path) {
  std::error_code ignored;
  if (path == "-") throw UserError("the output is '-'; it must be a file");
  if (!fs::is_regular_file(path, ignored) || is_data_file(path)) return;
  throw UserError("the output '" + path +
                  "' is there already, and is no data file that may be replaced; name another, or "
                  "remove it first");
}

InputsAndOutput inputs_and_output(const Given& given) {
  InputsAndOutput files{{given.operands.begin(), given.operands.end() - 1}, given.operands.back()};
  if (std::ranges::count(files.inputs, "-") > 1) {
    throw UserError("'-' is named more than once; standard input can be read only once");
  }
  for (const std::string& input : files.inputs) {
    if (same_file(input, files.output)) {
      throw UserError("'" + files.output + "' is both input and output; name another output");
    }
  }
  refuse_to_replace(files.output);
  return files;
}

}  // namespace lazydp::cli
