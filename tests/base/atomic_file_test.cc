// A file appears whole or not at all, whatever goes wrong while it is written.

#include "lazydp/base/io/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <string_view>

#include "lazydp/base/error.h"
#include "tests/support/temporary_folder.h"

namespace lazydp {
namespace {

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

using Names = std::vector<std::string>;

// Limits files of this process to `bytes`, as on a full disk; writing more is an error, not a
// signal.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now = {bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

std::string complaint(const std::function<void()>& act) {
  try {
    act();
  } catch (const IoError& error) {
    return error.what();
  }
  return "nothing went wrong";
}

class EveryAtomicFile : public testing::TestWithParam<AtomicFile::Until> {};

TEST_P(EveryAtomicFile, AppearsWithItsBytesAndItsMode) {
  const TemporaryFolder folder;
  folder.write("a", "an old and longer text");
  AtomicFile file((folder / "a").string(), 0640, GetParam());
  file.write(bytes("0123"));
  file.write(bytes("4567"));
  file.write_at(2, bytes("xy"));
  EXPECT_EQ(contents(folder / "a"), "an old and longer text");
  EXPECT_EQ(file.size(), 8u);
  file.commit();
  EXPECT_EQ(contents(folder / "a"), "01xy4567");
  EXPECT_EQ(folder.files(), Names{"a"});
  struct stat status = {};
  ASSERT_EQ(stat((folder / "a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0640u);
}

TEST_P(EveryAtomicFile, LeavesNothingUncommitted) {
  const TemporaryFolder folder;
  {
    AtomicFile file((folder / "a").string(), 0644, GetParam());
    file.write(bytes("half"));
  }
  EXPECT_TRUE(folder.files().empty());
}

TEST_P(EveryAtomicFile, SaysThatTheDiskIsFullAndKeepsWhatWasThere) {
  const TemporaryFolder folder;
  folder.write("a", "old");
  const std::string said = complaint([&] {
    AtomicFile file((folder / "a").string(), 0644, GetParam());
    const FullDisk full(1000);
    for (int i = 0; i < 300; ++i) file.write(bytes("0123456789"));
    file.commit();
  });
  EXPECT_NE(said.find((folder / "a").string()), std::string::npos) << said;
  EXPECT_NE(said.find("File too large"), std::string::npos) << said;
  EXPECT_EQ(contents(folder / "a"), "old");
  EXPECT_EQ(folder.files(), Names{"a"});
}

INSTANTIATE_TEST_SUITE_P(AtomicFile, EveryAtomicFile,
                         testing::Values(AtomicFile::Until::unnamed, AtomicFile::Until::named));

TEST(AtomicFile, LeavesNothingWhenTheProgramIsKilled) {
  const TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    AtomicFile file((folder / "a").string());
    file.write(bytes("half"));
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(folder.files().empty());
}

TEST(AtomicFile, PreallocationTakesRoomButNotLength) {
  const TemporaryFolder folder;
  AtomicFile file((folder / "a").string());
  file.preallocate(1 << 20);
  file.write(bytes("abc"));
  file.commit();
  EXPECT_EQ(contents(folder / "a"), "abc");
}

TEST(AtomicFile, PreallocationFailsAtOnceWhenThereIsNoRoom) {
  const TemporaryFolder folder;
  AtomicFile file((folder / "a").string());
  const std::string said = complaint([&] { file.preallocate(std::uint64_t{1} << 60); });
  EXPECT_EQ(said.rfind("cannot write '" + (folder / "a").string() + "': ", 0), 0u) << said;
}

TEST(AtomicFile, RefusesAtTheDoorWhatItCannotReplace) {
  const TemporaryFolder folder;
  EXPECT_THROW(AtomicFile(folder.path().string()), IoError);
  EXPECT_THROW(AtomicFile((folder / "none/a").string()), IoError);
  EXPECT_THROW(AtomicFile(""), IoError);
  EXPECT_THROW(AtomicFile("/dev/null"), IoError);
}

TEST(AtomicFile, FailsWhenItsFolderIsGone) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "inner");
  AtomicFile file((folder / "inner/a").string());
  std::filesystem::remove_all(folder / "inner");
  EXPECT_THROW(file.commit(), IoError);
}

TEST(AtomicFile, FollowsALinkAndKeepsIt) {
  const TemporaryFolder folder;
  folder.write("target", "old");
  std::filesystem::create_symlink(folder / "target", folder / "link");
  AtomicFile file((folder / "link").string());
  file.write(bytes("new"));
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(contents(folder / "target"), "new");
}

TEST(AtomicFile, PassesByANameThatIsTaken) {
  const TemporaryFolder folder;
  const std::string taken = "a." + std::to_string(getpid()) + "-0";
  folder.write(taken, "another's");
  AtomicFile file((folder / "a").string());
  file.write(bytes("ours"));
  file.commit();
  EXPECT_EQ(contents(folder / "a"), "ours");
  EXPECT_EQ(contents(folder / taken), "another's");
}

}  // namespace
}  // namespace lazydp
