#pragma once
// Shell completion and man pages, generated from the verbs and flags.

#include <span>
#include <string>
#include <string_view>

#include "lazydp/cli/command_line.h"

namespace lazydp::cli {

// A man page.
struct ManualPage {
  std::string file;  // lazydp-train.1
  std::string text;  // in roff
};

// Returns one page for the program and one for each verb.
std::vector<ManualPage> manual_pages(std::span<const Verb> verbs);

// Returns a script that completes this program's words. `shell` is bash, zsh or fish; throws
// UserError for any other.
std::string completion_script(std::string_view shell, std::span<const Verb> verbs);

}  // namespace lazydp::cli
