#include "lazydp/cli/verbs/schema_file.h"

#include <string_view>

#include "lazydp/base/io/mapped_file.h"
#include "lazydp/data/file/data_file.h"
#include "lazydp/data/file/file_layout.h"
#include "lazydp/data/schema_text.h"

namespace lazydp::cli {

Schema read_schema(const std::string& path) {
  const MappedFile file(path, MappedFile::Access::sequential);
  const std::span<const std::byte> bytes = file.bytes();
  if (bytes.size() >= sizeof kFileMagic && load<std::uint64_t>(bytes.data()) == kFileMagic) {
    return DataFile(path).schema();
  }
  return parse_schema({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

}  // namespace lazydp::cli
