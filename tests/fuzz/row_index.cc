// The index of a table in a file: as it comes, and with its seals made right.

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>

#include "lazydp/embedding/storage/row_file.h"
#include "tests/fuzz/input.h"

namespace {

constexpr lazydp::RowId kRows = 40;
constexpr std::size_t kDim = 2;
constexpr char kRowByte = 1;

void first_values(lazydp::RowId row, std::span<float> values) {
  for (float& value : values) value = static_cast<float>(row);
}

// The record that a checkpoint of this epoch would keep of the table.
struct Said {
  lazydp::RowId rows = 0;
  std::uint64_t seal = 0;
};

Said make_seals_right(std::string& index, std::uint32_t epoch) {
  using lazydp::RowRecord;
  float row[kDim];
  std::memset(row, kRowByte, sizeof(row));
  std::map<std::uint32_t, RowRecord> newest;
  for (std::size_t at = 0; at + sizeof(RowRecord) <= index.size(); at += sizeof(RowRecord)) {
    RowRecord record;
    std::memcpy(&record, index.data() + at, sizeof(record));
    record.row %= kRows + 1;
    record.epoch %= 8;
    record.seal = lazydp::seal_of(at / sizeof(record), record, row);
    std::memcpy(index.data() + at, &record, sizeof(record));
    if (record.epoch == 0 || record.epoch > epoch) continue;
    RowRecord& best = newest[record.row];
    if (record.epoch > best.epoch) best = record;
  }
  Said said;
  for (const auto& [number, record] : newest) {
    ++said.rows;
    said.seal += record.seal;
  }
  return said;
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

void lazydp::try_input(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return;
  static const Files files;
  constexpr std::size_t kPage = 4096;
  std::string index(text_of(data + 3, std::min<std::size_t>(size - 3, kPage)));
  const std::uint32_t epoch = data[1] % 16;
  Said said{.rows = data[2] % (kRows + 1)};
  if (data[0] % 2 == 1) {
    const Said right = make_seals_right(index, epoch);
    said.seal = right.seal;
    if (data[0] % 4 == 1) said.rows = right.rows;
  }
  index.resize((index.size() + kPage - 1) / kPage * kPage);
  files.put(".index", index);
  files.put(".rows", std::string(kPage, kRowByte));
  refuses_or([&] {
    RowFile file(files.path, 0, kRows, kDim, GrowingFile::Name::kept);
    file.go_back(epoch, said.rows, said.seal, first_values);
    file.forget_later();
    std::vector<float> all(kRows * kDim);
    file.copy(0, all);
    const std::vector<RowId> ids = {0, 39, 7, 7, 12};
    file.prepare(ids);
    for (const RowId id : ids) file.table().row(id)[0] = 1.0f;
    file.flush();
    file.end_epoch();
    file.prepare(ids);
  });
}
