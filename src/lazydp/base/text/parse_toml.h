#pragma once
// TOML, from whoever wrote it.

#include <toml++/toml.h>

#include <string>
#include <string_view>

namespace lazydp {

// Throws UserError, in one line that begins with `where`, unless it is TOML with keys in ASCII.
toml::table parse_toml(std::string_view text, const std::string& where);

}  // namespace lazydp
