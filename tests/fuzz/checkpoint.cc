// Checkpoints: as they come and, so that a fuzzer gets past checksums, as the content of a file
// that is sealed properly.

#include <xxhash.h>

#include "lazydp/checkpoint/checkpoint_header.h"
#include "tests/fuzz/input.h"

namespace lazydp {
namespace {

// A file of one frame, as sealed_file.h describes it.
std::string sealed_text(const std::string& content) {
  std::string file = "LZDPSEAL";
  const auto number = [&file](auto value) {
    file.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  number(std::uint32_t{1});  // version
  number(std::uint32_t{0});  // not locked
  file.append(16 + 24, '\0');
  number(static_cast<std::uint64_t>(XXH3_64bits_withSeed(file.data(), file.size(), 0)));
  number(static_cast<std::uint32_t>(content.size()) | 0x80000000u);
  file += content;
  constexpr std::uint64_t kSeedOfTheLastFrame = 3;
  number(static_cast<std::uint64_t>(
      XXH3_64bits_withSeed(content.data(), content.size(), kSeedOfTheLastFrame)));
  return file;
}

void read_all(const std::string& path) {
  refuses_or([&] {
    SealedReader file(path, nullptr);
    const CheckpointHead head = read_head(file);
    file.finish();
  });
  refuses_or([&] { verify_sealed(path, nullptr); });
}

}  // namespace
}  // namespace lazydp

void lazydp::try_input(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return;
  static const MemoryFile file;
  const std::string_view text = text_of(data + 1, size - 1);
  if (data[0] % 2 == 0) {
    file.put(text);
    read_all(file.path());
    return;
  }
  // The first bytes are a head's length, unless the fuzzer wants to say another.
  std::string content;
  const std::uint64_t length = text.size();
  if (data[0] % 4 == 1) content.append(reinterpret_cast<const char*>(&length), sizeof(length));
  content += text;
  file.put(sealed_text(content));
  read_all(file.path());
}
