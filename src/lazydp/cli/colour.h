#pragma once
// Colours for people at a terminal, and for nobody else.

#include <string>
#include <string_view>

namespace lazydp::cli {

// Whether what is written to this file descriptor may be coloured: it is a terminal that can, and
// NO_COLOR (no-color.org) is not set.
bool may_colour(int descriptor);

enum class Colour : unsigned char { heading, error };

// `text` in a colour, or as it is.
std::string coloured(std::string_view text, Colour colour, bool may);

// Lines that begin a section ("Training:") in the colour of headings.
std::string with_headings(std::string_view text, bool may);

}  // namespace lazydp::cli
