// Compressed inputs give the original bytes, or an error that some are missing.

#include "lazydp/data/text/byte_source.h"

#include <gtest/gtest.h>

#include <random>

#include "lazydp/base/error.h"
#include "tests/data/packing.h"
#include "tests/support/temporary_folder.h"

namespace lazydp {
namespace {

std::string some_text(std::size_t bytes) {
  std::mt19937_64 random(3);
  std::string text;
  while (text.size() < bytes) text += std::to_string(random() % 1000) + "\t";
  return text;
}

// Everything, in reads of odd sizes.
std::string read_all(const std::filesystem::path& path) {
  const auto source = open_source(path.string());
  std::string all;
  std::string part(100'003, '\0');
  for (std::size_t got = part.size(); got == part.size();) {
    got = source->read(part);
    all.append(part, 0, got);
  }
  EXPECT_EQ(source->read(part), 0u);
  return all;
}

TEST(ByteSource, ReadsPlainAndPackedAlike) {
  const TemporaryFolder folder;
  const std::string text = some_text(1 << 20);
  folder.write("plain", text);
  folder.write("gz", gzipped(text));
  folder.write("zst", zstd_packed(text));
  folder.write("two.gz", gzipped(text.substr(0, 1000)) + gzipped(text.substr(1000)));
  folder.write("two.zst", zstd_packed(text.substr(0, 1000)) + zstd_packed(text.substr(1000)));
  for (const std::string name : {"plain", "gz", "zst", "two.gz", "two.zst"}) {
    EXPECT_TRUE(read_all(folder / name) == text) << name;
  }
}

TEST(ByteSource, TakesShortAndEmptyFilesAsTheyAre) {
  const TemporaryFolder folder;
  for (const std::string text : {"", "a", "ab", "abc", "\x1f"}) {
    folder.write("short", text);
    EXPECT_EQ(read_all(folder / "short"), text);
  }
  folder.write("empty.gz", gzipped(""));
  EXPECT_EQ(read_all(folder / "empty.gz"), "");
}

TEST(ByteSource, NoticesPackedFilesThatAreCutAnywhere) {
  const TemporaryFolder folder;
  const std::string text = some_text(5000);
  for (const std::string& packed : {gzipped(text), zstd_packed(text)}) {
    for (std::size_t size = 4; size < packed.size(); size += 7) {
      folder.write("cut", packed.substr(0, size));
      EXPECT_THROW(read_all(folder / "cut"), IoError) << size << " of " << packed.size();
    }
  }
}

TEST(ByteSource, NoticesPackedFilesThatAreDamaged) {
  const TemporaryFolder folder;
  std::string packed = gzipped(some_text(5000));
  packed[packed.size() / 2] = static_cast<char>(packed[packed.size() / 2] ^ 1);
  folder.write("damaged", packed);
  EXPECT_THROW(read_all(folder / "damaged"), IoError);
  folder.write("garbage", gzipped("text") + "garbage");
  EXPECT_THROW(read_all(folder / "garbage"), IoError);
}

TEST(ByteSource, CountsWhatItReads) {
  const TemporaryFolder folder;
  const std::string packed = gzipped(some_text(100'000));
  folder.write("gz", packed);
  std::uint64_t bytes = 0;
  const auto source = open_source((folder / "gz").string(), &bytes);
  std::string out(1 << 20, '\0');
  source->read(out);
  EXPECT_EQ(bytes, packed.size());
}

TEST(ByteSource, SaysWhatCannotBeRead) {
  const TemporaryFolder folder;
  EXPECT_THROW(open_source((folder / "none").string()), IoError);
  EXPECT_THROW(read_all(folder.path()), IoError);
}

}  // namespace
}  // namespace lazydp
