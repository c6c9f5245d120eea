// Folders in which nothing may be written, from the start or from some moment on.

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>

#include "tests/cli/child.h"

namespace lazydp::cli {
namespace {

namespace fs = std::filesystem;

// The superuser may write where permissions say no; not without these two capabilities.
void obey_permissions() {
  constexpr int kDacOverride = 1, kDacReadSearch = 2;
  prctl(PR_CAPBSET_DROP, kDacOverride, 0, 0, 0);
  prctl(PR_CAPBSET_DROP, kDacReadSearch, 0, 0, 0);
}

void expect_one_line(const Child& child, const std::string& names) {
  const std::string err = child.err();
  EXPECT_EQ(std::ranges::count(err, '\n'), 1) << err;
  EXPECT_NE(err.find(names), std::string::npos) << err;
}

constexpr fs::perms kReadOnly = fs::perms::owner_read | fs::perms::owner_exec;

// Makes a folder writable again before it goes.
struct ReadOnly {
  fs::path folder;
  explicit ReadOnly(fs::path path) : folder(std::move(path)) { fs::permissions(folder, kReadOnly); }
  ~ReadOnly() {
    std::error_code ignored;
    fs::permissions(folder, fs::perms::owner_all, ignored);
  }
};

TEST(RefusedWrites, AFolderForARunIsRefusedAtOnce) {
  const Workplace at;
  fs::create_directory(at / "there");
  const ReadOnly there(at / "there");
  for (const Words& where :
       {Words{"--out", "there/run"}, Words{"--out", "run", "--table-storage", "file:there/tables"},
        Words{"--out", "run", "--table-storage", "file:there"}}) {
    Child child(at, tiny({"train", "--quiet", "--steps", "2"}) + where, obey_permissions);
    EXPECT_EQ(child.wait(), 4) << where[1] << child.err();
    expect_one_line(child, "there");
    EXPECT_TRUE(fs::is_empty(at / "there"));
    fs::remove_all(at / "run");
  }
}

TEST(RefusedWrites, ARunThatCannotBeWrittenIsLeftAsItIs) {
  const Workplace at;
  ASSERT_EQ(at.run(tiny({"train", "--quiet", "--steps", "4", "--no-release", "--out", "run"})).code,
            0);
  const auto before = all_of(at / "run");
  {
    const ReadOnly run(at / "run"), checkpoint(at / "run/checkpoint");
    for (const Words& words :
         {Words{"resume", "run", "--quiet"}, Words{"release", "run", "--quiet"},
          Words{"resume", "run", "--steps", "8", "--branch", "--quiet"}}) {
      Child child(at, words, obey_permissions);
      EXPECT_EQ(child.wait(), 4) << words[0] << child.err();
      expect_one_line(child, "run");
      EXPECT_TRUE(all_of(at / "run") == before);
    }
  }
  EXPECT_EQ(at.run({"release", "run", "--quiet"}).code, 0);
}

TEST(RefusedWrites, ACheckpointThatCannotBeWrittenEndsTheRunAndLosesNone) {
  const Workplace at;
  Child child(at,
              tiny({"train", "--quiet", "--steps", "10000000", "--seed", "5"},
                   {"--checkpoint-every", "50", "--out", "run"}),
              obey_permissions);
  ASSERT_TRUE(comes_true([&] {
    std::error_code ignored;
    return fs::exists(at / "run/checkpoint", ignored) &&
           !fs::is_empty(at / "run/checkpoint", ignored);
  }));
  const ReadOnly checkpoint(at / "run/checkpoint");
  EXPECT_EQ(child.wait(), 4) << child.err();
  expect_one_line(child, "run/checkpoint");
  std::size_t states = 0;
  for (const auto& entry : fs::directory_iterator(at / "run/checkpoint")) {
    states += entry.path().extension() == ".unsettled" ? 1 : 0;
  }
  EXPECT_GE(states, 1u);
}

// The folder as a read-only file system of its own, which only the child sees.
TEST(RefusedWrites, AReadOnlyFileSystemIsNamed) {
  const Workplace at;
  ASSERT_EQ(at.run(tiny({"train", "--quiet", "--steps", "4", "--no-release", "--out", "run"})).code,
            0);
  const auto before = all_of(at / "run");
  constexpr int kNotPermitted = 99;
  const std::string folder = at.path();
  const auto read_only = [folder] {
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount(folder.c_str(), folder.c_str(), nullptr, MS_BIND, nullptr) != 0 ||
        mount("none", folder.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) != 0 ||
        chdir(folder.c_str()) != 0) {
      _exit(kNotPermitted);
    }
  };
  for (const Words& words : {Words{"resume", "run", "--quiet"}, Words{"release", "run", "--quiet"},
                             tiny({"train", "--quiet", "--steps", "2", "--out", "new"}),
                             tiny({"train", "--quiet", "--steps", "2", "--json", "numbers"})}) {
    Child child(at, words, read_only);
    const int code = child.wait();
    if (code == kNotPermitted) GTEST_SKIP() << "this system lets us mount nothing";
    EXPECT_EQ(code, 4) << words[0] << child.err();
    expect_one_line(child, "Read-only file system");
  }
  EXPECT_TRUE(all_of(at / "run") == before);
}

}  // namespace
}  // namespace lazydp::cli
