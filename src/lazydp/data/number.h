#pragma once
// Parses numbers as logs have them.

#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace lazydp {

// Parses all of `text`: "12", "+1e3", "1,234.5" (commas between groups of three digits), or a time
// such as "2024-01-31", "2024-01-31 12:30" or "2024-01-31T12:30:00.25+02:00", which becomes seconds
// since 1970; without a zone it is taken for UTC.
std::errc parse_number(std::string_view text, double& out);

// The same for whole numbers of 64 bits; a time is none.
std::errc parse_number(std::string_view text, std::int64_t& out);

// Parses all of `text` as a time, in one of the forms above.
std::errc parse_time(std::string_view text, double& seconds);

// Returns seconds since 1970 of a time that is given in parts of a second. The same time has the
// same value however finely it is divided.
double seconds_of(std::int64_t time, std::int64_t parts_per_second);

}  // namespace lazydp
