#pragma once
// The library's four kinds of error, and the functions that throw them. See docs/architecture.md,
// "Errors".

#include <cerrno>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lazydp {

// The caller asked for something that the library cannot do. The message says what was given and
// what is allowed.
struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The caller asked for something that would void the privacy guarantee.
struct PrivacyError : UserError {
  using UserError::UserError;
};

// A file, a device or the operating system failed.
struct IoError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// An invariant of this library does not hold: a bug.
struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

// Throws InternalError unless `ok`. For invariants only, never for anything a user can cause.
inline void check(bool ok, const char* invariant, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  if (!ok) {
    throw InternalError(std::string(file) + ":" + std::to_string(line) + ": " + invariant);
  }
}

// Returns IoError("<failed>: <the system's reason>"): why the last call of the system failed.
inline IoError system_failure(const std::string& failed, int why = errno) {
  return IoError(failed + ": " + std::strerror(why));
}

// Throws UserError("<name> is <value>; it must be <allowed>") unless `ok`.
template <typename Value>
void require(bool ok, std::string_view name, const Value& value, std::string_view allowed) {
  if (ok) return;
  std::ostringstream message;
  message << name << " is " << value << "; it must be " << allowed;
  throw UserError(message.str());
}

// Throws UserError("<name> is '<text>'; it must be <allowed>").
[[noreturn]] inline void refuse(std::string_view name, std::string_view text,
                                std::string_view allowed) {
  throw UserError(std::string(name) + " is '" + std::string(text) + "'; it must be " +
                  std::string(allowed));
}

}  // namespace lazydp
