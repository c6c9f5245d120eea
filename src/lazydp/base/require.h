#pragma once
// How this folder refuses a value: its name, what was given, and what is allowed.

#include <sstream>
#include <string_view>

#include "lazydp/base/error.h"

namespace lazydp {

// Throws UserError("<name> is <value>; it must be <allowed>") unless `ok`.
template <typename Value>
void require(bool ok, std::string_view name, const Value& value, std::string_view allowed) {
  if (ok) return;
  std::ostringstream message;
  message << name << " is " << value << "; it must be " << allowed;
  throw UserError(message.str());
}

}  // namespace lazydp
