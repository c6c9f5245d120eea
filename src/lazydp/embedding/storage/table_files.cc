#include "lazydp/embedding/storage/table_files.h"

#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/base/io/atomic_file.h"
#include "lazydp/base/io/folder.h"
#include "lazydp/base/memory.h"
#include "lazydp/base/parallel.h"
#include "lazydp/embedding/first_weights.h"
#include "lazydp/embedding/table.h"

namespace lazydp {

namespace {

namespace fs = std::filesystem;

std::string path_of(const std::string& folder, std::size_t table) {
  std::array<char, 16> number;
  std::snprintf(number.data(), number.size(), "%05zu", table);
  return folder + "/table-" + number.data();
}

std::string new_id() {
  std::array<unsigned char, 16> bytes;
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw IoError("the operating system gave no random bytes");
  }
  std::string text;
  for (const unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

// True for an empty file: a process was killed before it had made the folder its own.
bool left_by_a_start(const fs::path& entry) {
  const std::string name = entry.filename().string();
  std::error_code ignored;
  return name == "lock" || name.starts_with("owner.") ||
         (name.starts_with("table-") && fs::file_size(entry, ignored) == 0);
}

}  // namespace

TableFiles::TableFiles(const std::string& folder, const std::optional<std::string>& run,
                       std::span<const RowId> rows, std::size_t dim)
    : folder_(folder), run_(run), room_(available_memory() / 2) {
  open_folder();
  if (run_) read_owner();
  const auto name = run_ ? GrowingFile::Name::kept : GrowingFile::Name::none;
  files_.reserve(rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k) {
    files_.emplace_back(path_of(folder_, k), static_cast<TableId>(k), rows[k], dim, name);
    tables_.push_back(files_.back().table());
  }
}

void TableFiles::open_folder() {
  make_folder(folder_, kOwnerFolder);
  if (!fs::is_directory(folder_)) {
    throw UserError("table-storage is 'file:" + folder_ + "', which is not a folder");
  }
}

void TableFiles::read_owner() {
  const std::string path = folder_ + "/owner";
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    for (const fs::path& entry : entries_of(folder_)) {
      if (left_by_a_start(entry)) continue;
      throw UserError("table-storage is 'file:" + folder_ +
                      "', which holds something else; name an empty folder, or a new one");
    }
  }
  lock_.emplace(folder_);
  if (!fs::exists(path, ignored)) return;
  const std::string text = read_text(path);
  const std::size_t line = text.find('\n');
  id_ = text.substr(0, line);
  owner_ = line == std::string::npos ? "" : text.substr(line + 1);
}

void TableFiles::write_owner() {
  id_ = new_id();
  if (!run_) return;
  owner_ = *run_;
  write_text(folder_ + "/owner", id_ + "\n" + owner_, kOwnerFile);
}

std::uint64_t TableFiles::bytes() const {
  std::uint64_t bytes = 0;
  for (const RowFile& file : files_) bytes += file.bytes();
  return bytes;
}

TableFiles::FirstValues TableFiles::first_weights(const Seed& seed) const {
  return [this, seed](std::size_t k) -> RowFile::FirstValues {
    const FirstWeights first(tables_[k].id(), tables_[k].rows(), seed);
    return [first](RowId row, std::span<float> values) { first.fill(row, values); };
  };
}

// Writes a new id first: if the program ends here, no checkpoint mistakes the remaining files for
// its own.
void TableFiles::start(const FirstValues& first) {
  if (run_ && !id_.empty() && owner_ != *run_) {
    throw UserError("table-storage is 'file:" + folder_ +
                    "', which holds the tables of the run in '" + owner_ +
                    "'; name another folder");
  }
  write_owner();
  epoch_ = 1;
  for (std::size_t k = 0; k < files_.size(); ++k) files_[k].clear(first(k));
}

void TableFiles::go_back(const TablePlaces& places, const FirstValues& first) {
  if (places.id != id_ || places.held.size() != files_.size() ||
      places.seals.size() != files_.size()) {
    throw UserError("table-storage is 'file:" + folder_ +
                    "', which does not hold the tables of this run");
  }
  epoch_ = places.epoch + 1;
  parallel_for(files_.size(), [&](std::size_t k) {
    files_[k].go_back(places.epoch, places.held[k], places.seals[k], first(k));
  });
}

void TableFiles::forget_later() {
  parallel_for(files_.size(), [&](std::size_t k) { files_[k].forget_later(); });
}

void TableFiles::prepare(RowsOfTables ids) {
  parallel_for(files_.size(), [&](std::size_t k) { files_[k].prepare(ids[k]); });
}

void TableFiles::will_need(RowsOfTables ids) {
  if (bytes() < room_) return;
  parallel_for(files_.size(), [&](std::size_t k) { files_[k].will_need(ids[k]); });
}

TablePlaces TableFiles::keep() {
  TablePlaces places{.id = id_, .epoch = epoch_};
  parallel_for(files_.size(), [&](std::size_t k) { files_[k].flush(); });
  for (const RowFile& file : files_) {
    places.held.push_back(file.held());
    places.seals.push_back(file.seal());
  }
  return places;
}

void TableFiles::end_epoch() {
  for (RowFile& file : files_) file.end_epoch();
  ++epoch_;
}

// Writes the owner last: if the program ends here, the same run may still clear the remaining
// files.
void TableFiles::discard() {
  for (RowFile& file : files_) file.clear({});
  if (!run_) return;
  for (std::size_t k = 0; k < files_.size(); ++k) {
    unlink((path_of(folder_, k) + ".rows").c_str());
    unlink((path_of(folder_, k) + ".index").c_str());
  }
  unlink((folder_ + "/owner").c_str());
  id_.clear();
}

}  // namespace lazydp
