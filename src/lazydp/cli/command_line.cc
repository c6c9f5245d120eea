#include "lazydp/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/version.h"
#include "lazydp/cli/config.h"
#include "lazydp/cli/parse_value.h"

namespace lazydp::cli {
namespace {

[[noreturn]] void refuse(const std::string& complaint, std::string_view typed,
                         std::span<const std::string_view> names, const std::string& help) {
  const std::string_view meant = nearest(typed, names);
  throw UserError(complaint +
                  (meant.empty() ? "; see " + help : "; did you mean " + std::string(meant) + "?"));
}

std::vector<std::string> split(std::string_view words) {
  std::istringstream in{std::string(words)};
  std::vector<std::string> parts;
  for (std::string word; in >> word;) parts.push_back(word);
  return parts;
}

// Returns the verb whose name the words begin with, and removes its name from `words`.
const Verb& take_verb(std::span<const Verb> verbs, std::span<const std::string>& words) {
  std::vector<std::string_view> known;
  std::string seconds;  // second words that could follow the first
  for (const Verb& verb : verbs) {
    const std::vector<std::string> name = split(verb.name);
    if (name.size() <= words.size() && std::ranges::equal(name, words.first(name.size()))) {
      words = words.subspan(name.size());
      return verb;
    }
    if (name.size() > 1 && name[0] == words[0]) {
      seconds += (seconds.empty() ? "" : " or ") + name[1];
    }
    known.push_back(verb.name);
  }
  if (!seconds.empty()) {
    throw UserError("'" + words[0] + "' needs to know what; say lazydp " + words[0] + " " +
                    seconds);
  }
  refuse("unknown verb '" + words[0] + "'", words[0], known, "lazydp --help");
}

// Returns the verbs whose names have this first word and a second one.
std::vector<Verb> verbs_of(std::span<const Verb> verbs, const std::string& word) {
  std::vector<Verb> found;
  std::ranges::copy_if(verbs, std::back_inserter(found),
                       [&](const Verb& verb) { return verb.name.starts_with(word + " "); });
  return found;
}

void list(std::ostream& out, std::span<const Verb> verbs) {
  std::size_t widest = 0;
  for (const Verb& verb : verbs) widest = std::max(widest, verb.name.size());
  for (const Verb& verb : verbs) {
    out << "  lazydp " << verb.name << std::string(widest + 2 - verb.name.size(), ' ')
        << verb.summary << "\n      " << verb.example << "\n";
  }
}

// Returns the screen for the first word of several verbs.
std::string overview_of(std::span<const Verb> verbs, const std::string& word) {
  std::ostringstream out;
  list(out, verbs);
  out << "\n  lazydp " << word << " VERB --help says what its flags are\n";
  return out.str();
}

std::vector<std::string_view> names_of(std::span<const Flag> flags) {
  std::vector<std::string_view> names;
  for (const Flag& flag : flags) names.push_back(flag.name);
  return names;
}

void declare(CLI::App& app, const Flag& flag, FlagTexts& given) {
  const std::string name(flag.name);
  const std::string help(flag.help);
  Text& value = given.*flag.value;
  CLI::Option* option = flag.hint.empty()
                            ? app.add_flag_callback(
                                  name, [&value] { value = "true"; }, help)
                            : app.add_option_function<std::string>(
                                  name, [&value](const std::string& text) { value = text; }, help);
  option->group(std::string(flag.group));
  if (!flag.hint.empty()) option->type_name(std::string(flag.hint));
}

// Returns the words of a command line beside its flags; "-" alone stands for a file.
std::vector<std::string> operands_of(const Verb& verb, const std::vector<std::string>& left,
                                     std::span<const std::string_view> flags) {
  const std::string name = "lazydp " + std::string(verb.name);
  const std::vector<std::string> wanted = split(verb.operands);
  const auto unknown = std::ranges::find_if(left, [&wanted](const std::string& word) {
    const bool flag = word.size() > 1 && word[0] == '-';
    return flag || wanted.empty();
  });
  if (unknown != left.end()) {
    refuse("unknown flag '" + *unknown + "' for " + name, *unknown, flags, name + " --help");
  }
  const bool many = verb.operands.find("...") != std::string_view::npos;
  const bool optional = verb.operands.starts_with('[');
  if ((left.size() < wanted.size() && !optional) || (left.size() > wanted.size() && !many)) {
    throw UserError(name + " takes " + std::string(verb.operands) + ", and " +
                    std::to_string(left.size()) + " such words were given; see " + name +
                    " --help");
  }
  return left;
}

}  // namespace

std::vector<Flag> flags_of(const Verb& verb) {
  std::vector<Flag> flags;
  std::ranges::copy_if(all_flags(), std::back_inserter(flags),
                       [&](const Flag& flag) { return (flag.verbs & verb.takes) != 0; });
  return flags;
}

Command parse_command(std::span<const Verb> verbs, std::span<const std::string> words) {
  if (words[0] == "help" && words.size() > 1) {  // help VERB = VERB --help
    std::vector<std::string> turned(words.begin() + 1, words.end());
    turned.emplace_back("--help");
    return parse_command(verbs, turned);
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    return {.text = overview(verbs)};
  }
  if (words[0] == "--version" || words[0] == "-V") {
    return {.text = std::string("lazydp ") + version() + "\n"};
  }

  const bool asks_for_help = words.size() == 2 && (words[1] == "--help" || words[1] == "-h");
  if (asks_for_help) {
    const std::vector<Verb> several = verbs_of(verbs, words[0]);
    if (!several.empty()) return {.text = overview_of(several, words[0])};
  }
  const Verb& verb = take_verb(verbs, words);
  Command command{.verb = &verb};
  const std::vector<Flag> flags = flags_of(verb);

  CLI::App app(std::string(verb.summary), "lazydp " + std::string(verb.name) +
                                              (verb.operands.empty() ? "" : " ") +
                                              std::string(verb.operands));
  app.footer("Example:\n  " + std::string(verb.example) + "\n");
  app.allow_extras();
  for (const Flag& flag : flags) declare(app, flag, command.given);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // takes them reversed
  } catch (const CLI::CallForHelp&) {
    return {.text = app.help()};
  } catch (const CLI::ParseError& error) {
    throw UserError(error.what());
  }
  command.given.operands = operands_of(verb, app.remaining(), names_of(flags));
  if (command.given.config) read_config_file(*command.given.config, flags, command.given);
  return command;
}

std::string overview(std::span<const Verb> verbs) {
  std::ostringstream out;
  out << "lazydp: differentially private training of recommendation models\n\n";
  list(out, verbs);
  out << "\n  lazydp VERB --help says what its flags are; lazydp --version which program this is\n";
  return out.str();
}

}  // namespace lazydp::cli
