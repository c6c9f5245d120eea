#pragma once
// A mapped file that is cut short, or whose disk fails, ends the program with an error that names
// it.

namespace lazydp::cli {

// From here on. What was kept before stays as it is: files that are being written have no names
// yet.
void explain_bus_errors(int exit_code);

}  // namespace lazydp::cli
