#include "lazydp/apps/schema_file.h"

#include <string_view>

#include "lazydp/base/mapped_file.h"
#include "lazydp/data/data_file.h"
#include "lazydp/data/file_layout.h"
#include "lazydp/data/schema_text.h"

namespace lazydp::apps {

Schema read_schema(const std::string& path) {
  const MappedFile file(path, MappedFile::Access::sequential);
  const std::span<const std::byte> bytes = file.bytes();
  if (bytes.size() >= sizeof kFileMagic && load<std::uint64_t>(bytes.data()) == kFileMagic) {
    return DataFile(path).schema();
  }
  return parse_schema({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

}  // namespace lazydp::apps
