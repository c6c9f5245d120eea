#pragma once
// The version of this program and library.

namespace lazydp {

// As "1.2.3". CMakeLists.txt is the one place that says it.
const char* version();

}  // namespace lazydp
