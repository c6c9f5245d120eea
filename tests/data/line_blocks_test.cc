// However text is cut into blocks, its lines come out once, whole and in order.

#include <gtest/gtest.h>

#include <random>

#include "lazydp/data/text/lines.h"
#include "tests/support/temporary_folder.h"

namespace lazydp {
namespace {

constexpr std::size_t kBlock = kMaxLineBytes + 4096;

struct Seen {
  std::string text;
  std::size_t too_long = 0;
  std::vector<std::string> by_input;
};

Seen read_all(const std::vector<std::string>& paths) {
  LineBlocks blocks(paths, {}, kBlock);
  LineBlock block;
  Seen seen;
  seen.by_input.resize(paths.size());
  while (blocks.next(block)) {
    EXPECT_TRUE(block.text.empty() || block.text.ends_with('\n'));
    EXPECT_EQ(block.starts_input, seen.by_input[block.input].empty() && block.starts_input);
    std::string joined;
    for (const std::string_view part : block.parts(7)) {
      EXPECT_TRUE(part.ends_with('\n'));
      joined += part;
    }
    EXPECT_EQ(joined, block.text);
    seen.text += block.text;
    seen.by_input[block.input] += block.text;
    seen.too_long += block.then_too_long ? 1 : 0;
  }
  return seen;
}

TEST(LineBlocks, GiveEveryLineOnce) {
  const TemporaryFolder folder;
  std::mt19937_64 random(4);
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    text += std::to_string(i) + std::string(random() % (i % 100 == 0 ? 300'000 : 2000), 'x') + "\n";
  }
  folder.write("a", text);
  EXPECT_TRUE(read_all({(folder / "a").string()}).text == text);
}

TEST(LineBlocks, NeedNoNewlineAtTheEnd) {
  const TemporaryFolder folder;
  folder.write("a", "1\n2");
  folder.write("b", "");
  folder.write("c", "3");
  const Seen seen =
      read_all({(folder / "a").string(), (folder / "b").string(), (folder / "c").string()});
  EXPECT_EQ(seen.by_input, (std::vector<std::string>{"1\n2\n", "", "3\n"}));
}

TEST(LineBlocks, LeaveOutAByteOrderMark) {
  const TemporaryFolder folder;
  folder.write("a",
               "\xef\xbb\xbf"
               "1\n\xef\xbb\xbf"
               "2\n");
  EXPECT_EQ(read_all({(folder / "a").string()}).text,
            "1\n\xef\xbb\xbf"
            "2\n");
}

TEST(LineBlocks, SkipLinesThatAreTooLong) {
  const TemporaryFolder folder;
  for (const std::size_t length : {2 * kBlock, 3 * kBlock - 2, 5 * kBlock + 17}) {
    std::string text = "1\n";
    text.append(length, 'x').append("\n2\n").append(length, 'x');
    folder.write("a", text);
    const Seen seen = read_all({(folder / "a").string()});
    EXPECT_EQ(seen.text, "1\n2\n");
    EXPECT_EQ(seen.too_long, 2u);
  }
}

}  // namespace
}  // namespace lazydp
