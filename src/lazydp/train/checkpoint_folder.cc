#include "lazydp/train/checkpoint_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

namespace fs = std::filesystem;

void sync_folder(const std::string& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = folder >= 0 && fsync(folder) == 0;
  const int why = errno;
  if (folder >= 0) close(folder);
  if (!synced) throw IoError("cannot flush " + path + ": " + std::strerror(why));
}

constexpr std::size_t kKept = 2;
constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kUnsettled = ".unsettled";
constexpr std::string_view kSettled = ".settled";

}  // namespace

CheckpointFolder::CheckpointFolder(std::string path, Json settings, std::optional<Lock> lock)
    : path_(std::move(path)), settings_(std::move(settings)), lock_(std::move(lock)) {
  constexpr mode_t kOwnerOnly = 0700;
  if (mkdir(path_.c_str(), kOwnerOnly) != 0 && errno != EEXIST) {
    throw IoError("cannot make " + path_ + ": " + std::strerror(errno));
  }
  remove_overtaken();  // a crash may have come between the settled state and the removal
}

std::vector<CheckpointFolder::File> CheckpointFolder::files() const {
  std::vector<File> found;
  std::error_code error;
  for (fs::directory_iterator i(path_, error), end; !error && i != end; i.increment(error)) {
    const std::string name = i->path().filename().string();
    File file{.path = i->path().string()};
    if (!name.starts_with(kPrefix)) continue;
    const char* first = name.data() + kPrefix.size();
    const char* last = name.data() + name.size();
    const auto [after, wrong] = std::from_chars(first, last, file.step);
    const std::string_view kind(after, static_cast<std::size_t>(last - after));
    if (wrong != std::errc() || (kind != kSettled && kind != kUnsettled)) continue;
    file.settled = kind == kSettled;
    found.push_back(std::move(file));
  }
  if (error) throw IoError("cannot read " + path_ + ": " + error.message());
  std::ranges::sort(found, [](const File& a, const File& b) {
    return std::pair(a.step, a.settled) > std::pair(b.step, b.settled);
  });
  return found;
}

std::string CheckpointFolder::path_of(Step step, bool settled) const {
  std::array<char, 16> number;
  std::snprintf(number.data(), number.size(), "%010u", step);
  return path_ + "/" + std::string(kPrefix) + number.data() +
         std::string(settled ? kSettled : kUnsettled);
}

void CheckpointFolder::remove(const File& file) const {
  if (unlink(file.path.c_str()) != 0 && errno != ENOENT) {
    throw IoError("cannot remove " + file.path + ": " + std::strerror(errno));
  }
  sync_folder(path_);
}

void CheckpointFolder::remove_overtaken() const {
  bool settled = false;
  for (const File& file : files()) {
    if (settled) remove(file);
    settled = settled || file.settled;
  }
}

std::unique_ptr<CheckpointReader> CheckpointFolder::open(std::size_t back) const {
  const std::vector<File> found = files();
  if (found.size() <= back) {
    throw UserError(path_ + (back == 0 ? " holds no checkpoint" : " holds no earlier checkpoint"));
  }
  return std::make_unique<CheckpointReader>(found[back].path, lock_ ? &*lock_ : nullptr);
}

void CheckpointFolder::restore(CheckpointReader& checkpoint, Trainer& trainer) {
  checkpoint.restore(trainer);
  adopt(trainer);
}

void CheckpointFolder::save(Trainer& trainer) {
  adopt(trainer);
  write_checkpoint(path_of(trainer.now(), false), trainer, settings_, lock_ ? &*lock_ : nullptr,
                   false, trainer.seed());
  const std::vector<File> found = files();
  for (std::size_t i = kKept; i < found.size(); ++i) remove(found[i]);
}

void CheckpointFolder::replace_by_settled(Trainer& trainer) {
  adopt(trainer);
  for (const File& file : files()) {
    if (file.step > trainer.now()) remove(file);
  }
  const std::vector<File> found = files();
  const bool there = !found.empty() && found[0].settled && found[0].step == trainer.now();
  if (there && open()->head().settings == settings_) return;
  write_checkpoint(path_of(trainer.now(), true), trainer, settings_, lock_ ? &*lock_ : nullptr,
                   true, trainer.seed().successor());
  remove_overtaken();
}

}  // namespace lazydp
