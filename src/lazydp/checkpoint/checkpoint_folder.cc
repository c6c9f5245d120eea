#include "lazydp/checkpoint/checkpoint_folder.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/base/io/atomic_file.h"
#include "lazydp/base/io/folder.h"
#include "lazydp/checkpoint/sections.h"
#include "lazydp/export/export_weights.h"

namespace lazydp {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKept = 2;
constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kUnsettled = ".unsettled";
constexpr std::string_view kSettled = ".settled";
constexpr std::string_view kRowsEnding = "-rows";
constexpr std::string_view kPart = "-part-";

bool first_rank(Trainer& trainer) {
  return trainer.state().comm.rank() == 0;
}

// Returns once all ranks have called it.
void meet(Trainer& trainer) {
  trainer.state().comm.run([](Communicator& ranks) { ranks.barrier(); });
}

}  // namespace

CheckpointFolder::CheckpointFolder(std::string path, Json settings,
                                   std::optional<Passphrase> passphrase)
    : path_(std::move(path)), settings_(std::move(settings)), passphrase_(std::move(passphrase)) {
  make_folder(path_, kOwnerFolder);
  remove_overtaken();  // a crash may have come between the settled state and this removal
  remove_unfinished();
  remove_lost_parts();
}

// A complete file is renamed from a temporary one, which a crash may leave.
void CheckpointFolder::remove_unfinished() const {
  std::error_code ignored;
  for (const fs::path& path : entries_of(path_, ignored)) {
    const std::string name = path.filename().string();
    const std::size_t kind = name.find('.');
    if (name.starts_with(kPrefix) && name.find('.', kind + 1) != std::string::npos) {
      remove(path.string());
    }
  }
}

std::vector<CheckpointFolder::File> CheckpointFolder::files() const {
  std::vector<File> found;
  for (const fs::path& path : entries_of(path_)) {
    const std::string name = path.filename().string();
    File file{.path = path.string()};
    if (!name.starts_with(kPrefix)) continue;
    const char* first = name.data() + kPrefix.size();
    const char* last = name.data() + name.size();
    const auto [after, wrong] = std::from_chars(first, last, file.step);
    const std::string_view kind(after, static_cast<std::size_t>(last - after));
    if (wrong != std::errc() || (kind != kSettled && kind != kUnsettled)) continue;
    file.settled = kind == kSettled;
    found.push_back(std::move(file));
  }
  std::ranges::sort(found, [](const File& a, const File& b) {
    return std::pair(a.step, a.settled) > std::pair(b.step, b.settled);
  });
  return found;
}

std::string CheckpointFolder::path_of(Step step, Settled settled) const {
  std::array<char, 16> number;
  std::snprintf(number.data(), number.size(), "%010u", step);
  return path_ + "/" + std::string(kPrefix) + number.data() +
         std::string(settled == Settled::yes ? kSettled : kUnsettled);
}

void CheckpointFolder::remove(const File& file) const {
  remove(file.path);
}

void CheckpointFolder::remove(const std::string& file) const {
  if (unlink(file.c_str()) != 0 && errno != ENOENT) {
    throw system_failure("cannot remove " + file);
  }
  flush_folder(path_);
}

void CheckpointFolder::remove_newer_than(Step step) const {
  for (const File& file : files()) {
    if (file.step > step) remove(file);
  }
}

// A run that goes back gives up the newer checkpoints only for one that is whole.
void CheckpointFolder::give_up_newer_than(const CheckpointReader& checkpoint) const {
  const std::vector<File> found = files();
  if (found.empty() || found[0].step <= checkpoint.head().step) return;
  verify_sealed(checkpoint.path(), passphrase());
  remove_newer_than(checkpoint.head().step);
}

void CheckpointFolder::remove_overtaken() const {
  bool settled = false;
  for (const File& file : files()) {
    if (settled) remove(file);
    settled = settled || file.settled;
  }
}

// Removes parts of a checkpoint that was never completed, or that is gone.
void CheckpointFolder::remove_lost_parts() const {
  std::vector<std::string> parts;
  for (const fs::path& path : entries_of(path_)) {
    const std::string name = path.filename().string();
    if (name.starts_with(kPrefix) && name.find(kPart) != std::string::npos) {
      parts.push_back(path.string());
    }
  }
  if (parts.empty()) return;
  std::set<std::string> kept;
  for (const File& file : files()) {
    try {
      const CheckpointReader checkpoint(file.path, passphrase());
      kept.insert(part_path(file.path, checkpoint.head().save, 0));
    } catch (const IoError&) {
      // Opening that checkpoint reports that it is damaged; a run that goes back to the one before
      // need not fail.
      std::erase_if(parts, [&](const std::string& part) {
        return part.starts_with(file.path + std::string(kPart));
      });
    }
  }
  for (const std::string& part : parts) {
    if (!kept.contains(part.substr(0, part.rfind('-')) + "-0")) remove(part);
  }
}

std::unique_ptr<CheckpointReader> CheckpointFolder::open(std::size_t back) const {
  const std::vector<File> found = files();
  if (found.size() <= back) {
    throw UserError(path_ + (back == 0 ? " holds no checkpoint" : " holds no earlier checkpoint"));
  }
  return std::make_unique<CheckpointReader>(found[back].path, passphrase());
}

void CheckpointFolder::restore(CheckpointReader& checkpoint, Trainer& trainer) {
  const CheckpointHead& head = checkpoint.head();
  const TableStorage storage = trainer.state().storage;
  if (head.tables && !storage.in_files()) {
    throw UserError(
        "the run's tables are in files; give the --table-storage that it was begun with");
  }
  if (!head.tables && storage.in_files()) {
    throw UserError("the run's tables are in its checkpoints; go on without --table-storage");
  }
  if (storage.in_files()) {
    TableFiles& files = storage.files();
    settled_ = head.tables->settled;
    const auto first =
        settled_.exist() ? rows_of_file(settled_rows(), settled_) : files.first_weights(head.seed);
    if (!head.settled) files.go_back(head.tables->places, first);
    give_up_newer_than(checkpoint);
    if (head.settled) {
      files.start(first);
    } else {
      files.forget_later();
    }
  }
  checkpoint.restore(trainer);
  trainer.mark_kept();
  held_ = head.step;
  if (!storage.in_files() && first_rank(trainer)) remove_newer_than(head.step);
  meet(trainer);
}

// Returns whether the trainer's state is already here. Its files may have been deleted all the
// same.
bool CheckpointFolder::holds(Trainer& trainer) const {
  if (held_ != trainer.now()) return false;
  bool there =
      fs::exists(path_of(*held_, Settled::yes)) || fs::exists(path_of(*held_, Settled::no));
  trainer.state().comm.run([&there](Communicator& ranks) {
    ranks.broadcast(std::as_writable_bytes(std::span(&there, 1)), 0);
  });
  return there;
}

void CheckpointFolder::save(Trainer& trainer) {
  const TrainingState state = trainer.state();
  state.table_optimizer.require_whole();
  trainer.mark_kept();
  if (holds(trainer)) return;
  const bool in_files = state.storage.in_files();
  const auto stored =
      in_files ? std::optional(StoredTables{state.storage.files().keep(), settled_}) : std::nullopt;
  write_checkpoint(path_of(trainer.now(), Settled::no), trainer, settings_, passphrase(),
                   Settled::no, trainer.seed(), stored);
  if (first_rank(trainer)) {
    const std::vector<File> found = files();
    for (std::size_t i = kKept; i < found.size(); ++i) remove(found[i]);
    if (state.comm.size() > 1) remove_lost_parts();
  }
  meet(trainer);
  held_ = trainer.now();
  if (!in_files) return;
  remove_other_rows();  // left by a release that a crash cut short
  state.storage.files().end_epoch();
}

void CheckpointFolder::replace_by_settled(Trainer& trainer, const Metadata& metadata,
                                          const Progress& progress) {
  const TrainingState state = trainer.state();
  state.table_optimizer.require_whole();
  meet(trainer);
  if (first_rank(trainer)) remove_newer_than(trainer.now());
  meet(trainer);
  const std::vector<File> found = files();
  const bool there = !found.empty() && found[0].settled && found[0].step == trainer.now();
  if (there && open()->head().settings == settings_) return;
  const bool in_files = state.storage.in_files();
  if (in_files && !(there && settled_.exist())) write_settled_rows(trainer, metadata, progress);
  write_checkpoint(path_of(trainer.now(), Settled::yes), trainer, settings_, passphrase(),
                   Settled::yes, trainer.seed().successor(),
                   in_files ? std::optional(StoredTables{{}, settled_}) : std::nullopt);
  if (first_rank(trainer)) {
    remove_overtaken();
    remove_lost_parts();
  }
  meet(trainer);
  if (!in_files) return;
  remove_other_rows();
  state.storage.files().discard();  // the former rows: no checkpoint refers to them any more
}

void CheckpointFolder::write_settled_rows(Trainer& trainer, const Metadata& metadata,
                                          const Progress& progress) {
  const std::string path = path_of(trainer.now(), Settled::yes) + std::string(kRowsEnding);
  SettledRows rows{
      .name = fs::path(path).filename().string(), .blake2b = {}, .step = trainer.now()};
  rows.blake2b = write_safetensors(path, export_weights(trainer, progress), metadata, kOwnerFile);
  settled_ = rows;
}

void CheckpointFolder::begin_with_rows(const std::string& file, const std::string& blake2b) {
  const std::string path = path_of(0, Settled::yes) + std::string(kRowsEnding);
  const std::string unfinished = path + ".new";
  std::error_code failed;
  fs::remove(unfinished, failed);
  fs::create_hard_link(file, unfinished, failed);
  if (failed) fs::copy_file(file, unfinished, failed);  // not every two files can share a disk
  if (!failed) fs::rename(unfinished, path, failed);
  if (failed) throw IoError("cannot keep " + file + " as " + path + ": " + failed.message());
  flush_folder(path_);
  settled_ = {.name = fs::path(path).filename().string(), .blake2b = blake2b, .step = 0};
}

void CheckpointFolder::remove_other_rows() const {
  std::error_code ignored;
  for (const fs::path& path : entries_of(path_, ignored)) {
    const std::string name = path.filename().string();
    if (name.ends_with(kRowsEnding) && name != settled_.name) remove(path.string());
  }
}

}  // namespace lazydp
