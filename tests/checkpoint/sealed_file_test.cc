#include "lazydp/checkpoint/sealed_file.h"

#include <gtest/gtest.h>

#include <random>

#include "lazydp/base/error.h"
#include "tests/support/temporary_folder.h"

namespace lazydp {
namespace {

std::string noise(std::size_t size) {
  std::mt19937 rng(1);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(rng());
  return bytes;
}

void seal(const std::string& path, const std::string& bytes, const Passphrase* passphrase) {
  AtomicFile file(path, 0600);
  SealedWriter writer(file, passphrase);
  const std::size_t half = bytes.size() / 2;
  writer.write(std::as_bytes(std::span(bytes).first(half)));
  writer.write(std::as_bytes(std::span(bytes).subspan(half)));
  writer.finish();
  file.commit();
}

std::string unseal(const std::string& path, std::size_t size, const Passphrase* passphrase) {
  SealedReader reader(path, passphrase);
  std::string bytes(size, '\0');
  reader.read(std::as_writable_bytes(std::span(bytes)));
  reader.finish();
  return bytes;
}

class Sealed : public testing::TestWithParam<bool> {
 protected:
  const Passphrase* passphrase() const { return GetParam() ? &lock_ : nullptr; }
  TemporaryFolder folder_;
  Passphrase lock_{"correct horse battery staple"};
};

TEST_P(Sealed, IsReadBackAsItWasWritten) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{4} << 20, (std::size_t{9} << 20) + 5}) {
    const std::string bytes = noise(size);
    seal(folder_ / "file", bytes, passphrase());
    EXPECT_EQ(unseal(folder_ / "file", size, passphrase()), bytes);
  }
}

TEST_P(Sealed, OfNothingHasNothingToRead) {
  seal(folder_ / "file", "", passphrase());
  EXPECT_THROW(unseal(folder_ / "file", 1, passphrase()), IoError);
}

TEST_P(Sealed, NoBitCanBeFlippedAndNoByteCutOrAdded) {
  const std::string bytes = noise(3000);
  seal(folder_ / "file", bytes, passphrase());
  const std::string whole = contents(folder_ / "file");
  const auto refused = [&](const std::string& changed) {
    folder_.write("changed", changed);
    try {
      unseal(folder_ / "changed", bytes.size(), passphrase());
      return false;
    } catch (const IoError&) {
      return true;
    } catch (const UserError&) {
      return true;
    }
  };
  // Deriving a key takes a while: fewer places where there is one.
  const std::size_t stride = GetParam() ? 400 : 7;
  for (std::size_t i = 0; i < whole.size(); i += stride) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ (1 << (i % 8)));
    EXPECT_TRUE(refused(changed)) << "byte " << i;
    EXPECT_TRUE(refused(whole.substr(0, i))) << "cut to " << i;
  }
  EXPECT_TRUE(refused(whole + "x"));
  EXPECT_FALSE(refused(whole));
}

INSTANTIATE_TEST_SUITE_P(PlainAndLocked, Sealed, testing::Bool());

TEST(Lock, AnotherPassphraseOrNoneDoesNotOpen) {
  const TemporaryFolder folder;
  const Passphrase passphrase("correct horse battery staple");
  const Passphrase other("correct horse battery stable");
  const std::string bytes = noise(1000);
  seal(folder / "file", bytes, &passphrase);
  EXPECT_TRUE(SealedReader::locked(folder / "file"));
  EXPECT_THROW(unseal(folder / "file", bytes.size(), &other), UserError);
  EXPECT_THROW(unseal(folder / "file", bytes.size(), nullptr), UserError);
  EXPECT_EQ(contents(folder / "file").find(bytes.substr(100, 16)), std::string::npos);
}

TEST(Lock, DoesNotTakeAFileThatAnybodyCanHaveWritten) {
  const TemporaryFolder folder;
  const Passphrase passphrase("correct horse battery staple");
  const std::string bytes = noise(1000);
  seal(folder / "file", bytes, nullptr);
  EXPECT_THROW(unseal(folder / "file", bytes.size(), &passphrase), UserError);
  EXPECT_THROW(verify_sealed(folder / "file", &passphrase), UserError);
}

TEST(SealedFile, OfTheFutureIsRefusedByName) {
  const TemporaryFolder folder;
  seal(folder / "file", "text", nullptr);
  std::string bytes = contents(folder / "file");
  bytes[8] = 2;
  folder.write("file", bytes);
  try {
    unseal(folder / "file", 4, nullptr);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("newer lazydp"), std::string::npos);
  }
}

}  // namespace
}  // namespace lazydp
