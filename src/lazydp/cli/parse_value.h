#pragma once
// Parses text into numbers, lists and file names, or throws UserError that says what is allowed.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/cli/flags.h"

namespace lazydp::cli {

// Parses all of `text` as a whole number from `least` to `most`.
std::uint64_t whole_number(std::string_view name, std::string_view text, std::uint64_t least,
                           std::uint64_t most);

// Parses all of `text` as a number, infinities included; returns nothing for any other text,
// including NaN.
std::optional<double> number(std::string_view text);

double positive(std::string_view name, std::string_view text);          // and finite
double zero_or_positive(std::string_view name, std::string_view text);  // and finite
double positive_or_inf(std::string_view name, std::string_view text);
double fraction(std::string_view name, std::string_view text);  // above 0, at most 1
double between_0_and_1(std::string_view name, std::string_view text,
                       std::string_view example);  // above 0, below 1

bool truth(std::string_view name, std::string_view text);  // true | false

// Returns the parts of `text` between any of `separators`; empty parts are kept.
std::vector<std::string> parts_of(std::string_view text, std::string_view separators);

// Returns the value that belongs to one of a few names.
template <class Value, std::size_t count>
Value choice(std::string_view name, std::string_view text,
             const std::array<std::pair<std::string_view, Value>, count>& choices) {
  std::string allowed;
  for (const auto& [known, value] : choices) {
    if (known == text) return value;
    allowed += (allowed.empty() ? "" : " or ") + std::string(known);
  }
  refuse(name, text, allowed);
}

// Returns the one of `names` with the fewest slips (a letter added, lost, changed, or two swapped)
// from `typed`, which is likely mistyped; empty if even that has too many.
std::string_view nearest(std::string_view typed, std::span<const std::string_view> names);

// The positional arguments of a verb that writes a file.
struct InputsAndOutput {
  std::vector<std::string> inputs;
  std::string output;
};

// Splits the operands into all but the last, and the last. Throws UserError if the output is one of
// the inputs, or an existing file that is no data file: the user may have forgotten to name an
// output.
InputsAndOutput inputs_and_output(const FlagTexts& given);

// Throws UserError if `path` exists and is no data file.
void refuse_to_replace(const std::string& path);

}  // namespace lazydp::cli
