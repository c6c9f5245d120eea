#pragma once
// The manual as man pages, made of the verbs and flags there are.

#include <span>
#include <string>

#include "lazydp/cli/command_line.h"

namespace lazydp::cli {

struct ManualPage {
  std::string file;  // lazydp-train.1
  std::string text;  // in man's own language
};

// One page for the program and one for each verb.
std::vector<ManualPage> manual_pages(std::span<const Verb> verbs);

}  // namespace lazydp::cli
