#include "lazydp/cli/colour.h"

#include <unistd.h>

#include <cstdlib>

#include "lazydp/cli/parse_value.h"

namespace lazydp::cli {

bool may_colour(int descriptor) {
  const char* none = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool refused = none != nullptr && *none != '\0';
  const bool able = terminal != nullptr && std::string_view(terminal) != "dumb";
  return isatty(descriptor) != 0 && able && !refused;
}

std::string coloured(std::string_view text, Colour colour, bool may) {
  if (!may) return std::string(text);
  const std::string_view start = colour == Colour::error ? "\033[1;31m" : "\033[1m";
  return std::string(start) + std::string(text) + "\033[0m";
}

std::string with_headings(std::string_view text, bool may) {
  if (!may) return std::string(text);
  std::string out;
  for (const std::string& line : parts_of(text, "\n")) {
    const bool section = line.size() > 1 && line.back() == ':' && line.front() != ' ';
    out += (out.empty() ? "" : "\n") + (section ? coloured(line, Colour::heading, may) : line);
  }
  return out;
}

}  // namespace lazydp::cli
