// Data files: as they come, and with every checksum made right, so that a fuzzer gets behind them.

#include "lazydp/data/file/data_file.h"

#include <cstring>

#include "tests/fuzz/input.h"

namespace lazydp {
namespace {

// Puts the checksums that belong to what the file says.
void repair(std::string& bytes) {
  if (bytes.size() < sizeof(FileHeader)) return;
  FileHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const std::uint64_t page = header.page_bytes;
  if (page < kMinPageBytes || page > bytes.size()) return;
  const std::uint64_t schema =
      std::min<std::uint64_t>(header.schema_bytes, bytes.size() - sizeof(FileHeader));
  const std::uint64_t first = (sizeof(FileHeader) + schema + page - 1) / page;
  header.content = 0;
  for (std::uint64_t i = 0; (first + i + 1) * page <= bytes.size(); ++i) {
    char* at = bytes.data() + (first + i) * page;
    const std::uint64_t sum =
        page_checksum(std::as_bytes(std::span(at, static_cast<std::size_t>(page))), i);
    std::memcpy(at, &sum, sizeof(sum));
    header.content = add_to_content(header.content, sum);
  }
  header.checksum =
      header_checksum(header, std::string_view(bytes).substr(sizeof(FileHeader), schema));
  std::memcpy(bytes.data(), &header, sizeof(header));
}

}  // namespace
}  // namespace lazydp

void lazydp::try_input(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return;
  static const MemoryFile file;
  std::string bytes(text_of(data + 1, size - 1));
  if (data[0] % 2 == 1) repair(bytes);
  file.put(bytes);
  refuses_or([&] {
    const DataFile set(file.path());
    std::vector<ExampleId> some;
    for (ExampleId i = 0; i < std::min<std::uint64_t>(set.size(), 64); ++i) some.push_back(i);
    if (set.size() > 0) some.push_back(set.size() - 1);
    Batch batch;
    set.read(some, batch);
    const std::vector<RowId> rows = set.table_rows();
    for (std::size_t k = 0; k < rows.size(); ++k) {
      for (const RowId id : batch.bags[k].ids) {
        if (id < 0 || id >= rows[k]) std::abort();
      }
    }
    if (set.size() <= 4096) set.check_all_pages();
  });
}
