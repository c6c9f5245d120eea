#pragma once
// The version of this program and library.

namespace lazydp {

// Returns the version as "1.2.3". CMakeLists.txt is the one place that defines it.
const char* version();

}  // namespace lazydp
