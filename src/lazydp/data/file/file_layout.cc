#include "lazydp/data/file/file_layout.h"

#define XXH_INLINE_ALL  // the Python package needs no library for it
#include <xxhash.h>

#include <cstddef>

namespace lazydp {

std::uint64_t page_checksum(std::span<const std::byte> page, std::uint64_t number) {
  constexpr std::size_t kFrom = sizeof(PageHeader::checksum);
  return XXH3_64bits_withSeed(page.data() + kFrom, page.size() - kFrom, number);
}

std::uint64_t add_to_content(std::uint64_t content, std::uint64_t page_checksum) {
  return XXH3_64bits_withSeed(&page_checksum, sizeof page_checksum, content);
}

std::uint64_t header_checksum(const FileHeader& header, std::string_view schema) {
  const std::uint64_t of_schema = XXH3_64bits(schema.data(), schema.size());
  return XXH3_64bits_withSeed(&header, offsetof(FileHeader, checksum), of_schema);
}

}  // namespace lazydp
