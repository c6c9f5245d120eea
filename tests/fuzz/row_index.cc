// The index of a table in a file: as it comes, and with its seals made right.

#include <cstdio>
#include <cstring>
#include <filesystem>

#include "lazydp/embedding/row_file.h"
#include "tests/fuzz/input.h"

namespace {

constexpr lazydp::RowId kRows = 40;
constexpr std::size_t kDim = 2;

void first_values(lazydp::RowId row, std::span<float> values) {
  for (float& value : values) value = static_cast<float>(row);
}

void make_seals_right(std::string& index) {
  for (std::size_t at = 0; at + sizeof(lazydp::RowRecord) <= index.size();
       at += sizeof(lazydp::RowRecord)) {
    lazydp::RowRecord record;
    std::memcpy(&record, index.data() + at, sizeof(record));
    record.row %= kRows + 1;
    record.epoch %= 8;
    record.seal = lazydp::seal_of(at / sizeof(record), record.row, record.epoch);
    std::memcpy(index.data() + at, &record, sizeof(record));
  }
}

// A place for the two files of a table, in memory where the system has that.
struct Files {
  std::string path;

  Files() {
    const std::filesystem::path memory = "/dev/shm";
    const auto folder =
        (std::filesystem::exists(memory) ? memory : std::filesystem::temp_directory_path()) /
        ("lazydp-fuzz-rows-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
    path = (folder / "table").string();
  }
  ~Files() { std::filesystem::remove_all(std::filesystem::path(path).parent_path()); }

  void put(const std::string& name, std::string_view bytes) const {
    std::FILE* file = std::fopen((path + name).c_str(), "wb");
    if (file == nullptr) std::abort();
    std::fwrite(bytes.data(), 1, bytes.size(), file);
    std::fclose(file);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lazydp;
  if (size < 3) return 0;
  static const Files files;
  std::string index(text_of(data + 3, size - 3));
  if (data[0] % 2 == 1) make_seals_right(index);
  index.resize((index.size() + 4095) / 4096 * 4096);
  files.put(".index", index);
  files.put(".rows", std::string(4096, '\1'));
  refuses_or([&] {
    RowFile file(files.path, 0, kRows, kDim, GrowingFile::Name::kept);
    file.go_back(data[1], data[2] % (kRows + 1), first_values);
    std::vector<float> all(kRows * kDim);
    file.copy(0, all);
    const std::vector<RowId> ids = {0, 39, 7, 7, 12};
    file.prepare(ids);
    for (const RowId id : ids) file.table().row(id)[0] = 1.0f;
    file.end_epoch();
    file.prepare(ids);
  });
  return 0;
}
