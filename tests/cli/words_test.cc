// The program's texts about itself: help, manual, completion, colours. All of them are made from
// the same tables of verbs and flags, so each is compared with another.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "lazydp/cli/flags.h"
#include "tests/cli/program.h"

namespace lazydp::cli {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The verbs that the first screen lists, each followed by its example.
std::vector<std::pair<std::string, std::string>> verbs_and_examples(const Workplace& place) {
  std::vector<std::pair<std::string, std::string>> verbs;
  const std::vector<std::string> lines = lines_of(place.run({"--help"}).out);
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    if (!lines[i].starts_with("  lazydp ") || !lines[i + 1].starts_with("      lazydp ")) continue;
    const std::string rest = lines[i].substr(9);
    verbs.emplace_back(rest.substr(0, rest.find("  ")), lines[i + 1].substr(6));
  }
  return verbs;
}

TEST(Words, EveryVerbHasHelpWithItsExampleAndAManualPage) {
  const Workplace place;
  const auto verbs = verbs_and_examples(place);
  ASSERT_GE(verbs.size(), 18u);
  ASSERT_EQ(place.run({"manual", "man"}).code, 0);
  for (const auto& [verb, example] : verbs) {
    const Ran help = place.shell("\"$LAZYDP\" " + verb + " --help");
    EXPECT_EQ(help.code, 0) << verb;
    EXPECT_NE(help.out.find("\n  " + example + "\n"), std::string::npos) << help.out;
    EXPECT_EQ(place.shell("\"$LAZYDP\" help " + verb).out, help.out);
    std::string page = "lazydp-" + verb + ".1";
    std::ranges::replace(page, ' ', '-');
    EXPECT_TRUE(std::filesystem::exists(place / ("man/" + page))) << page;
  }
  EXPECT_TRUE(std::filesystem::exists(place / "man/lazydp.1"));
}

// Every flag of the help of `train` is on its page, and the other way round.
TEST(Words, ManualAndHelpNameTheSameFlags) {
  const Workplace place;
  ASSERT_EQ(place.run({"manual", "man"}).code, 0);
  const std::string page = contents(place / "man/lazydp-train.1");
  const std::string help = place.run({"train", "--help"}).out;
  std::size_t both = 0;
  for (const Flag& flag : all_flags()) {
    std::string dashes;
    for (const char letter : flag.name) dashes += letter == '-' ? "\\-" : std::string(1, letter);
    const bool on_page = page.find("\\fB" + dashes + "\\fR") != std::string::npos;
    EXPECT_EQ(on_page, help.find("  " + std::string(flag.name) + " ") != std::string::npos)
        << flag.name;
    both += on_page;
  }
  EXPECT_GT(both, 30u);
}

// Bash itself is asked what it would offer after these words.
TEST(Words, BashCompletesThem) {
  const Workplace place;
  const auto offered = [&](const std::vector<std::string>& words) {
    std::string script =
        "source /dev/stdin <<<\"$(\"$LAZYDP\" completion bash)\"\nCOMP_WORDS=(lazydp";
    for (const std::string& word : words) script += " '" + word + "'";
    script +=
        ")\nCOMP_CWORD=" + std::to_string(words.size()) + "\n_lazydp\necho \"${COMPREPLY[*]}\"\n";
    std::ofstream(place / "ask.bash") << script;
    return place.shell("bash ask.bash").out;
  };
  std::ofstream(place / "data.ldp") << "x";
  EXPECT_EQ(offered({"tra"}), "train\n");
  EXPECT_EQ(offered({"privacy", "e"}), "epsilon\n");
  EXPECT_EQ(offered({"train", "--pooling-mode", ""}), "sum mean\n");
  EXPECT_EQ(offered({"train", "--weig"}), "--weight-decay\n");
  EXPECT_EQ(offered({"inspect", "--weig"}), "\n");
  EXPECT_EQ(offered({"privacy", "epsilon", "--noise-m"}), "--noise-multiplier\n");
  EXPECT_EQ(offered({"train", "--algorithm", "lazydp-"}), "lazydp-no-ans\n");
  EXPECT_EQ(offered({"train", "--data", "da"}), "data.ldp\n");
  EXPECT_EQ(offered({"inspect", "da"}), "data.ldp\n");
  EXPECT_EQ(offered({"completion", "z"}), "zsh\n");
}

TEST(Words, OnlyATerminalIsColouredAndOnlyIfItMayBe) {
  const Workplace place;
  if (place.shell("command -v script").code != 0) GTEST_SKIP() << "script is not there";
  const auto at_terminal = [&](const std::string& setting, const std::string& words) {
    return place.shell(setting + " script -qec \"'$LAZYDP' " + words + "\" /dev/null").out;
  };
  const std::string escape = "\033[1";
  for (const std::string words : {"train --help", "nothing"}) {
    EXPECT_NE(at_terminal("TERM=xterm NO_COLOR=", words).find(escape), std::string::npos);
    EXPECT_EQ(at_terminal("TERM=xterm NO_COLOR=1", words).find(escape), std::string::npos);
    EXPECT_EQ(at_terminal("TERM=dumb NO_COLOR=", words).find(escape), std::string::npos);
  }
  EXPECT_EQ(place.run({"train", "--help"}).out.find(escape), std::string::npos);
  EXPECT_EQ(place.run({"nothing"}).err.find(escape), std::string::npos);
}

TEST(Words, RefusesAShellItDoesNotKnowAndAFolderItCannotMake) {
  const Workplace place;
  const Ran ran = place.run({"completion", "tcsh"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("it must be bash or zsh or fish"), std::string::npos) << ran.err;
  std::ofstream(place / "file") << "x";
  EXPECT_EQ(place.run({"manual", "file/man"}).code, 4);
}

}  // namespace
}  // namespace lazydp::cli
