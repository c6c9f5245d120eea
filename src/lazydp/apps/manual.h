#pragma once
// The manual as man pages, made of the verbs and flags there are.

#include <span>
#include <string>

#include "lazydp/apps/command_line.h"

namespace lazydp::apps {

struct ManualPage {
  std::string file;  // lazydp-train.1
  std::string text;  // in man's own language
};

// One page for the program and one for each verb.
std::vector<ManualPage> manual_pages(std::span<const Verb> verbs);

}  // namespace lazydp::apps
