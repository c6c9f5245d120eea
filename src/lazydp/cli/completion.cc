#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <vector>

#include "lazydp/cli/flags.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/cli/words_for_shells.h"

namespace lazydp::cli {
namespace {

using Words = std::vector<std::string>;

std::string joined(const Words& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += between;
    text += word;
  }
  return text;
}

// Returns `text` with a backslash before each of `special`.
std::string escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char letter : text) {
    if (special.find(letter) != std::string_view::npos) out += '\\';
    out += letter;
  }
  return out;
}

// Returns `text` in single quotes, for sh and zsh.
std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char letter : text)
    out += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return out + "'";
}

// Verbs by their first word, in order of appearance; a verb of one word stands alone.
struct Group {
  std::string first;
  std::vector<const Verb*> verbs;
  bool two_words() const { return verbs.front()->name.find(' ') != std::string_view::npos; }
};

std::string second_word(const Verb& verb) {
  return std::string(verb.name.substr(verb.name.find(' ') + 1));
}

std::vector<Group> groups_of(std::span<const Verb> verbs) {
  std::vector<Group> groups;
  for (const Verb& verb : verbs) {
    const std::string first = parts_of(verb.name, " ").front();
    auto group = std::ranges::find(groups, first, &Group::first);
    if (group == groups.end()) group = groups.insert(group, Group{.first = first, .verbs = {}});
    group->verbs.push_back(&verb);
  }
  return groups;
}

Words first_words(const std::vector<Group>& groups) {
  Words words;
  for (const Group& group : groups) words.push_back(group.first);
  return words;
}

Words second_words(const Group& group) {
  Words words;
  for (const Verb* verb : group.verbs) words.push_back(second_word(*verb));
  return words;
}

std::string bash(std::span<const Verb> verbs) {
  const std::vector<Group> groups = groups_of(verbs);
  std::ostringstream out;
  out << "# Completion of lazydp's words in bash; written by `lazydp completion bash`.\n"
         "_lazydp() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
         "  local words='' files=''\n"
         "  COMPREPLY=()\n"
         "  if ((COMP_CWORD == 1)); then\n"
         "    COMPREPLY=($(compgen -W '"
      << joined(first_words(groups), " ")
      << " --help --version' -- \"$word\"))\n    return\n  fi\n";
  for (const Group& group : groups) {
    if (!group.two_words()) continue;
    out << "  if ((COMP_CWORD == 2)) && [[ ${COMP_WORDS[1]} == " << group.first
        << " ]]; then\n    COMPREPLY=($(compgen -W '" << joined(second_words(group), " ")
        << "' -- \"$word\"))\n    return\n  fi\n";
  }
  out << "  case $before in\n";
  std::map<std::string, Words> followed;  // completions, and the flags that they follow
  for (const Flag& flag : all_flags()) {
    if (flag.hint.empty()) continue;
    const FlagValues values = values_of(flag);
    const std::string what = "words=" + shell_quoted(joined(values.words, " ")) +
                             " files=" + (values.files ? "yes" : "''") + " before=value";
    followed[what].emplace_back(flag.name);
  }
  for (const auto& [what, flags] : followed) {
    out << "    " << joined(flags, " | ") << ") " << what << " ;;\n";
  }
  out << "  esac\n  if [[ $before != value ]]; then\n"
         "    case \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n";
  for (const Verb& verb : verbs) {
    const FlagValues operands = operand_values(verb.operands);
    Words words = operands.words;
    for (const Flag& flag : flags_of(verb)) words.emplace_back(flag.name);
    words.emplace_back("--help");
    const bool two = verb.name.find(' ') != std::string_view::npos;
    out << "      " << (two ? shell_quoted(verb.name) : std::string(verb.name) + "' '*")
        << ") words='" << joined(words, " ") << "'" << (operands.files ? " files=yes" : "")
        << " ;;\n";
  }
  out << "    esac\n  fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "  if [[ $files == yes && $word != -* ]]; then\n"
         "    local file\n"
         "    compopt -o filenames 2>/dev/null\n"
         "    while IFS= read -r file; do COMPREPLY+=(\"$file\"); done < <(compgen -f -- "
         "\"$word\")\n"
         "  fi\n"
         "}\n"
         "complete -F _lazydp lazydp\n";
  return out.str();
}

// Returns the line of zsh's _arguments for a flag.
std::string zsh_argument(const Flag& flag) {
  std::string text = std::string(flag.name) + "[" + escaped(flag.help, "[]:\\") + "]";
  if (!flag.hint.empty()) {
    const FlagValues values = values_of(flag);
    text += ":" + escaped(flag.hint, "[]:\\") + ":";
    if (!values.words.empty()) text += "(" + joined(values.words, " ") + ")";
    if (values.words.empty() && values.files) text += "_files";
  }
  return shell_quoted(text);
}

void zsh_verb(std::ostream& out, const Verb& verb, const std::string& indent) {
  out << indent << "_arguments -S";
  for (const Flag& flag : flags_of(verb)) out << " \\\n" << indent << "  " << zsh_argument(flag);
  out << " \\\n" << indent << "  '--help[what its flags are]'";
  const FlagValues operands = operand_values(verb.operands);
  if (operands.files) out << " \\\n" << indent << "  '*:file:_files'";
  if (!operands.words.empty()) {
    out << " \\\n" << indent << "  '1:word:(" << joined(operands.words, " ") << ")'";
  }
  out << "\n";
}

void zsh_choice(std::ostream& out, const std::string& indent, const Words& described) {
  out << indent << "local -a known=(\n";
  for (const std::string& word : described) out << indent << "  " << shell_quoted(word) << "\n";
  out << indent << ")\n" << indent << "_describe verb known\n";
}

std::string zsh(std::span<const Verb> verbs) {
  const std::vector<Group> groups = groups_of(verbs);
  const auto described = [](const std::string& word, std::string_view what) {
    return word + ":" + escaped(what, ":\\");
  };
  Words firsts;
  for (const Group& group : groups) {
    firsts.push_back(described(group.first, group.two_words() ? joined(second_words(group), ", ")
                                                              : group.verbs[0]->summary));
  }
  std::ostringstream out;
  out << "#compdef lazydp\n"
         "# Completion of lazydp's words in zsh; written by `lazydp completion zsh`.\n"
         "_lazydp() {\n  if ((CURRENT == 2)); then\n";
  zsh_choice(out, "    ", firsts);
  out << "    return\n  fi\n  local first=${words[2]}\n  shift words\n  ((CURRENT--))\n"
         "  case $first in\n";
  for (const Group& group : groups) {
    out << "    " << group.first << ")\n";
    if (!group.two_words()) {
      zsh_verb(out, *group.verbs.front(), "      ");
    } else {
      Words seconds;
      for (const Verb* verb : group.verbs) {
        seconds.push_back(described(second_word(*verb), verb->summary));
      }
      out << "      if ((CURRENT == 2)); then\n";
      zsh_choice(out, "        ", seconds);
      out << "        return\n      fi\n      local second=${words[2]}\n      shift words\n"
             "      ((CURRENT--))\n      case $second in\n";
      for (const Verb* verb : group.verbs) {
        out << "        " << second_word(*verb) << ")\n";
        zsh_verb(out, *verb, "          ");
        out << "          ;;\n";
      }
      out << "      esac\n";
    }
    out << "      ;;\n";
  }
  out << "  esac\n}\n_lazydp \"$@\"\n";
  return out.str();
}

// Returns `text` in single quotes, for fish.
std::string fish_quoted(std::string_view text) {
  return "'" + escaped(text, "'\\") + "'";
}

std::string fish(std::span<const Verb> verbs) {
  std::ostringstream out;
  out << "# Completion of lazydp's words in fish; written by `lazydp completion fish`.\n"
         "complete -c lazydp -f\n"
         "complete -c lazydp -n __fish_use_subcommand -l version -d 'which program this is'\n"
         "complete -c lazydp -l help -d 'what there is to say'\n";
  for (const Group& group : groups_of(verbs)) {
    out << "complete -c lazydp -n __fish_use_subcommand -a " << group.first << " -d "
        << fish_quoted(group.two_words() ? joined(second_words(group), ", ")
                                         : std::string(group.verbs[0]->summary))
        << "\n";
    const std::string seen = "__fish_seen_subcommand_from " + group.first;
    for (const Verb* verb : group.verbs) {
      std::string when = seen;
      if (group.two_words()) {
        out << "complete -c lazydp -n '" << seen << "; and not __fish_seen_subcommand_from "
            << joined(second_words(group), " ") << "' -a " << second_word(*verb) << " -d "
            << fish_quoted(verb->summary) << "\n";
        when += "; and __fish_seen_subcommand_from " + second_word(*verb);
      }
      const FlagValues operands = operand_values(verb->operands);
      if (operands.files) out << "complete -c lazydp -n '" << when << "' -F\n";
      if (!operands.words.empty()) {
        out << "complete -c lazydp -n '" << when << "' -a "
            << fish_quoted(joined(operands.words, " ")) << "\n";
      }
      for (const Flag& flag : flags_of(*verb)) {
        out << "complete -c lazydp -n '" << when << "' -l " << flag.name.substr(2);
        const FlagValues values = values_of(flag);
        if (!flag.hint.empty()) out << (values.files ? " -r -F" : " -x");
        if (!values.words.empty()) out << " -a " << fish_quoted(joined(values.words, " "));
        out << " -d " << fish_quoted(flag.help) << "\n";
      }
    }
  }
  return out.str();
}

using Writer = std::string (*)(std::span<const Verb>);
constexpr std::array<std::pair<std::string_view, Writer>, 3> kShells = {
    {{"bash", bash}, {"zsh", zsh}, {"fish", fish}}};

}  // namespace

std::string completion_script(std::string_view shell, std::span<const Verb> verbs) {
  return choice("the shell", shell, kShells)(verbs);
}

}  // namespace lazydp::cli
