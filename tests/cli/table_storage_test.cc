// Tables in files: the disk space they need, and where they are found again.

#include <gtest/gtest.h>

#include "tests/cli/breakable_run.h"

namespace lazydp::cli {
namespace {

namespace fs = std::filesystem;

TEST(Disk, TooSmallForTheTablesIsRefusedBeforehandWithBothNumbers) {
  const Workplace at;
  const Ran ran = at.run({"train", "--quiet", "--rows", "100000000", "--dim", "4096", "--bottom",
                          "13-4096", "--top", "1", "--batch", "4096", "--steps", "1000000",
                          "--table-storage", "file:tables", "--out", "run", "--dry-run"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("of disk"), std::string::npos) << ran.err;
  EXPECT_FALSE(fs::exists(at / "run"));
  EXPECT_FALSE(fs::exists(at / "tables"));
}

TEST(TableStorage, IsFoundAgainFromAnywhere) {
  const Workplace at;
  const Words flags = {"--table-storage", "file:tables", "--no-release"};
  ASSERT_EQ(at.run(run_of("run", 4, flags)).code, 0);
  fs::create_directory(at / "elsewhere");
  Child child(at, {"resume", "../run", "--steps", "4", "--quiet"},
              [] { (void)!chdir("elsewhere"); });
  EXPECT_EQ(child.wait(), 0) << child.err();
  EXPECT_TRUE(fs::is_empty(at / "elsewhere"));
}

TEST(TableStorage, RefusesWhatItCannotDo) {
  const Workplace at;
  at.write("key", "a passphrase of some length\n");
  EXPECT_EQ(at.run(run_of("run", 2, {"--table-storage", "elsewhere"})).code, 2);
  EXPECT_EQ(at.run(run_of("run", 2, {"--table-storage", "file:"})).code, 2);
  EXPECT_EQ(at.run(run_of("run", 2, {"--table-storage", "file:t", "--key-file", "key"})).code, 2);
  const Ran eager =
      at.run(run_of("run", 2, {"--table-storage", "file:t", "--algorithm", "dpsgd-f"}));
  EXPECT_EQ(eager.code, 2);
  EXPECT_NE(eager.err.find("every row"), std::string::npos) << eager.err;
}

}  // namespace
}  // namespace lazydp::cli
