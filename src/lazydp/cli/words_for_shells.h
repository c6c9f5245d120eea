#pragma once
// Scripts that complete this program's words in a shell, made of the verbs and flags there are.

#include <span>
#include <string>
#include <string_view>

#include "lazydp/cli/command_line.h"

namespace lazydp::cli {

// The manual as man pages, made of the verbs and flags there are.

struct ManualPage {
  std::string file;  // lazydp-train.1
  std::string text;  // in man's own language
};

// One page for the program and one for each verb.
std::vector<ManualPage> manual_pages(std::span<const Verb> verbs);

// `shell` is bash, zsh or fish; UserError for any other.
std::string completion_script(std::string_view shell, std::span<const Verb> verbs);

}  // namespace lazydp::cli
