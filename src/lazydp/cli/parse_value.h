#pragma once
// Text to numbers and lists, or a refusal that says what was given and what is allowed.

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

// All of `text` as a whole number from `least` to `most`.
std::uint64_t whole_number(std::string_view name, std::string_view text, std::uint64_t least,
                           std::uint64_t most);

// All of `text` as a number, infinities included; nothing for anything else, NaN among it.
std::optional<double> number(std::string_view text);

double positive(std::string_view name, std::string_view text);          // and finite
double zero_or_positive(std::string_view name, std::string_view text);  // and finite
double positive_or_inf(std::string_view name, std::string_view text);
double fraction(std::string_view name, std::string_view text);  // above 0, at most 1
double between_0_and_1(std::string_view name, std::string_view text,
                       std::string_view example);  // above 0, below 1

bool truth(std::string_view name, std::string_view text);  // true | false

// The parts of `text` between any of `separators`; empty parts are kept.
std::vector<std::string> parts_of(std::string_view text, std::string_view separators);

// The value that goes with one of a few names.
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

// The name that somebody who mistyped may have meant.

// The one of `names` with the fewest slips (a letter added, lost, changed, or two swapped) from
// `typed`; empty when even that has too many to be a slip.
std::string_view nearest(std::string_view typed, std::span<const std::string_view> names);

// The files that stand beside the flags of a verb.

struct InputsAndOutput {
  std::vector<std::string> inputs;
  std::string output;
};

// All but the last, and the last. UserError if the output is one of the inputs, or a file that is
// there and is no data file: somebody may have forgotten to name one.
InputsAndOutput inputs_and_output(const FlagTexts& given);

// UserError if `path` is there and is no data file.
void refuse_to_replace(const std::string& path);

}  // namespace lazydp::cli
