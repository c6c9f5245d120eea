#include "lazydp/cli/parse_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/data/file/file_layout.h"

namespace lazydp::cli {

std::uint64_t whole_number(std::string_view name, std::string_view text, std::uint64_t least,
                           std::uint64_t most) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const bool good = error == std::errc() && stop == end && value >= least && value <= most;
  if (!good) {
    refuse(name, text,
           "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

std::optional<double> number(std::string_view text) {
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const bool good = error == std::errc() && stop == end && !std::isnan(value);
  return good ? std::optional(value) : std::nullopt;
}

double positive(std::string_view name, std::string_view text) {
  const auto value = number(text);
  if (!value || !(*value > 0.0) || std::isinf(*value)) {
    refuse(name, text, "a positive number, for example 0.1");
  }
  return *value;
}

double zero_or_positive(std::string_view name, std::string_view text) {
  const auto value = number(text);
  if (!value || !(*value >= 0.0) || std::isinf(*value)) {
    refuse(name, text, "zero or a positive number, for example 1.0");
  }
  return *value;
}

double positive_or_inf(std::string_view name, std::string_view text) {
  const auto value = number(text);
  if (!value || !(*value > 0.0)) refuse(name, text, "a positive number, for example 1.0, or inf");
  return *value;
}

double fraction(std::string_view name, std::string_view text) {
  const auto value = number(text);
  if (!value || !(*value > 0.0 && *value <= 1.0)) {
    refuse(name, text, "above 0 and at most 1, for example 0.01");
  }
  return *value;
}

double between_0_and_1(std::string_view name, std::string_view text, std::string_view example) {
  const auto value = number(text);
  if (!value || !(*value > 0.0 && *value < 1.0)) {
    refuse(name, text, "above 0 and below 1, for example " + std::string(example));
  }
  return *value;
}

bool truth(std::string_view name, std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  refuse(name, text, "true or false");
}

std::vector<std::string> parts_of(std::string_view text, std::string_view separators) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

namespace {

// Returns the Damerau-Levenshtein distance, without edits inside swapped pairs.
std::size_t slips(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string_view nearest(std::string_view typed, std::span<const std::string_view> names) {
  std::string_view best;
  std::size_t fewest = std::max<std::size_t>(2, typed.size() / 3) + 1;
  for (const std::string_view name : names) {
    const std::size_t count = slips(typed, name);
    if (count >= fewest) continue;
    fewest = count;
    best = name;
  }
  return best;
}

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

InputsAndOutput inputs_and_output(const FlagTexts& given) {
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
