#include <algorithm>
#include <sstream>
#include <vector>

#include "lazydp/base/version.h"
#include "lazydp/cli/words_for_shells.h"

namespace lazydp::cli {
namespace {

// Escapes text so that man shows it unchanged: dashes stay dashes, and no line is taken for a
// request.
std::string plain(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '\\') {
      out += "\\e";
    } else if (letter == '-') {
      out += "\\-";
    } else if (letter == '\'' || letter == '`') {
      out += letter == '\'' ? "\\(aq" : "\\(ga";
    } else {
      out += letter;
    }
  }
  return !out.empty() && out.front() == '.' ? "\\&" + out : out;
}

std::string page_name(const Verb& verb) {
  std::string name = "lazydp-" + std::string(verb.name);
  std::ranges::replace(name, ' ', '-');
  return name;
}

void heading(std::ostream& out, const std::string& name, std::string_view summary) {
  std::string title = name;
  std::ranges::transform(title, title.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  out << ".TH " << plain(title) << " 1 \"\" \"lazydp " << version() << "\" \"LazyDP\"\n"
      << ".SH NAME\n"
      << plain(name) << " \\- " << plain(summary) << "\n";
}

void example(std::ostream& out, const Verb& verb) {
  out << ".SH EXAMPLE\n.nf\n$ " << plain(verb.example) << "\n.fi\n";
}

void exit_codes(std::ostream& out) {
  out << ".SH EXIT STATUS\n"
         ".TP\n0\ndone\n"
         ".TP\n2\nsomething was asked that cannot be done; the message says what was given and "
         "what "
         "is allowed\n"
         ".TP\n3\nit would void a privacy guarantee\n"
         ".TP\n4\na file, a device or the operating system failed\n"
         ".TP\n70\na bug of the program\n";
}

std::string page_of(const Verb& verb) {
  std::ostringstream out;
  heading(out, page_name(verb), verb.summary);
  const std::vector<Flag> flags = flags_of(verb);
  out << ".SH SYNOPSIS\n.B lazydp " << plain(verb.name) << "\n";
  if (!flags.empty()) out << "[\\fIFLAGS\\fR]\n";
  if (!verb.operands.empty()) out << "\\fI" << plain(verb.operands) << "\\fR\n";
  std::vector<std::string_view> groups;
  for (const Flag& flag : flags) {
    if (std::ranges::find(groups, flag.group) == groups.end()) groups.push_back(flag.group);
  }
  if (!groups.empty()) {
    out << ".SH FLAGS\nWhat follows a semicolon is what holds if the flag is not given.\n";
  }
  for (const std::string_view group : groups) {
    out << ".SS " << group << "\n";
    for (const Flag& flag : flags) {
      if (flag.group != group) continue;
      out << ".TP\n\\fB" << plain(flag.name) << "\\fR";
      if (!flag.hint.empty()) out << " \\fI" << plain(flag.hint) << "\\fR";
      out << "\n" << plain(flag.help) << "\n";
    }
  }
  example(out, verb);
  exit_codes(out);
  out << ".SH SEE ALSO\n.BR lazydp (1)\n";
  return out.str();
}

std::string page_of_program(std::span<const Verb> verbs) {
  std::ostringstream out;
  heading(out, "lazydp", "differentially private training of recommendation models");
  out << ".SH SYNOPSIS\n.B lazydp\n\\fIVERB\\fR [\\fIFLAGS\\fR]\n"
         ".SH DESCRIPTION\n"
         "Trains models of large embedding tables with DP\\-SGD at nearly the speed of training "
         "without privacy: the noise of a row is delayed until the row is next read.\n"
         ".SH VERBS\n";
  for (const Verb& verb : verbs) {
    out << ".TP\n\\fB" << plain(verb.name) << "\\fR\n" << plain(verb.summary) << "\n";
  }
  out << ".SH ENVIRONMENT\n.TP\nNO_COLOR\nif not empty: no colours, not even on a terminal\n"
         ".TP\nOMP_NUM_THREADS\nthreads, where \\-\\-threads says nothing\n";
  exit_codes(out);
  out << ".SH SEE ALSO\n";
  for (std::size_t i = 0; i < verbs.size(); ++i) {
    out << ".BR " << plain(page_name(verbs[i])) << " (1)" << (i + 1 < verbs.size() ? " ,\n" : "\n");
  }
  return out.str();
}

}  // namespace

std::vector<ManualPage> manual_pages(std::span<const Verb> verbs) {
  std::vector<ManualPage> pages = {{"lazydp.1", page_of_program(verbs)}};
  for (const Verb& verb : verbs) pages.push_back({page_name(verb) + ".1", page_of(verb)});
  return pages;
}

}  // namespace lazydp::cli
