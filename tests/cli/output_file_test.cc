// Files are written whole or not at all.

#include <gtest/gtest.h>

#include "lazydp/base/error.h"
#include "lazydp/cli/output.h"
#include "tests/cli/program.h"

namespace lazydp::cli {
namespace {

TEST(OutputFile, LeavesNothingBeforeItIsWritten) {
  const Workplace place;
  { const OutputFile file((place / "a.json").string()); }
  EXPECT_TRUE(place.files().empty());
}

TEST(OutputFile, ReplacesWhatWasThere) {
  const Workplace place;
  place.write("a.json", "an old and longer text");
  OutputFile((place / "a.json").string()).write("new");
  EXPECT_EQ(contents(place / "a.json"), "new");
  EXPECT_EQ(place.files(), std::vector<std::string>{"a.json"});
}

TEST(OutputFile, KeepsTheOldFileWhenWritingFails) {
  const Workplace place;
  std::filesystem::create_directory(place / "inner");
  const OutputFile file((place / "inner/a.json").string());
  std::filesystem::remove_all(place / "inner");
  EXPECT_THROW(file.write("new"), IoError);
  EXPECT_TRUE(place.files().empty());
}

TEST(OutputFile, FollowsALinkAndKeepsIt) {
  const Workplace place;
  place.write("target", "old");
  std::filesystem::create_symlink(place / "target", place / "link");
  OutputFile((place / "link").string()).write("new");
  EXPECT_TRUE(std::filesystem::is_symlink(place / "link"));
  EXPECT_EQ(contents(place / "target"), "new");
}

TEST(OutputFile, WritesIntoADeviceInsteadOfReplacingIt) {
  OutputFile("/dev/null").write("gone");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(OutputFile, RefusesADirectoryAtTheDoor) {
  const Workplace place;
  std::filesystem::create_directory(place / "inner");
  EXPECT_THROW(OutputFile((place / "inner").string()), IoError);
  EXPECT_THROW(OutputFile((place / "none/a.json").string()), IoError);
}

}  // namespace
}  // namespace lazydp::cli
