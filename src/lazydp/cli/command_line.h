#pragma once
// Parses the words of a command line, and the config file they may name, into a verb and its flags.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lazydp/cli/flags.h"

namespace lazydp::cli {

// The processes as which a verb may be started: several share the work of one run.
enum class Ranks { one, several };

struct Verb {
  std::string_view name;  // may be two words
  std::uint32_t takes;    // bits of Takes: its flags
  std::string_view summary;
  std::string_view example;
  void (*run)(const FlagTexts& given);
  std::string_view operands = {};  // arguments beside flags: "DIR", "IN... OUT", "[NAME...]"
  Ranks ranks = Ranks::one;
};

// Returns the flags that a verb takes, in their order.
std::vector<Flag> flags_of(const Verb& verb);

// The command to carry out: run `verb`, or, if that is null, show `text`.
struct Command {
  const Verb* verb = nullptr;
  FlagTexts given = {};
  std::string text = {};
};

// Parses the words after the program's name, at least one. Throws UserError for an unknown word,
// with the most similar one that is known.
Command parse_command(std::span<const Verb> verbs, std::span<const std::string> words);

// Returns the screen that lists the verbs.
std::string overview(std::span<const Verb> verbs);

}  // namespace lazydp::cli
