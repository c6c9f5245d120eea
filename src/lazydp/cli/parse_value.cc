#include "lazydp/cli/parse_value.h"

#include <charconv>
#include <cmath>

namespace lazydp::cli {

void refuse(std::string_view name, std::string_view text, std::string_view allowed) {
  throw UserError(std::string(name) + " is '" + std::string(text) + "'; it must be " +
                  std::string(allowed));
}

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

}  // namespace lazydp::cli
