// Estimates the disk space of a run before any is used.

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

#include "lazydp/base/error.h"
#include "lazydp/base/io/folder.h"
#include "lazydp/base/text/number_text.h"
#include "lazydp/cli/run/persistent_run.h"
#include "lazydp/cli/run/run.h"

namespace lazydp::cli {

namespace {

namespace fs = std::filesystem;

constexpr double kGrowth = 1.25;      // files grow by a quarter
constexpr double kIndex = 16.0;       // bytes a slot
constexpr double kTable = 4e6;        // the least that the files of a table take
constexpr double kCheckpoints = 3.0;  // two are kept while a third is written

// Returns an upper bound of the rows of a table that so many steps read.
double rows_read(RowId rows, double steps, const RunOptions& options) {
  const auto batch = static_cast<double>(options.batch);
  const double most = batch + 6.0 * std::sqrt(batch);  // a Poisson batch is hardly larger
  return std::min(static_cast<double>(rows),
                  steps * most * static_cast<double>(options.model.shape.pooling));
}

// Returns an upper bound of the steps between two checkpoints.
double interval(const RunOptions& options, const SaveOptions& keeping) {
  const double all = options.plan.steps;
  if (keeping.every_seconds > 0.0 || keeping.every_steps == 0) return all;
  return std::min<double>(keeping.every_steps, all);
}

// Returns the folder, or the one that it will be made in.
fs::path existing(const std::string& path) {
  std::error_code ignored;
  fs::path at = fs::absolute(path, ignored);
  while (!fs::exists(at, ignored) && at.has_relative_path()) at = at.parent_path();
  return at;
}

struct Disk {
  dev_t device = 0;
  double free = 0.0;
  double held = 0.0;  // by files that the run already has, and will overwrite or remove
  double room() const { return free + held; }
};

// Measures the disk that `folder` is on; `own` holds files of the run and nothing else.
Disk disk_of(const std::string& folder, const std::string& own) {
  Disk disk;
  const fs::path at = existing(folder);
  struct stat status = {};
  struct statvfs space = {};
  if (stat(at.c_str(), &status) != 0 || statvfs(at.c_str(), &space) != 0) {
    throw IoError("cannot tell how much room there is in '" + at.string() + "'");
  }
  disk.device = status.st_dev;
  disk.free = static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize);
  std::error_code ignored;
  for (const fs::path& path : entries_of(own, ignored)) {
    struct stat file = {};
    // A file with a second link is a released model, which stays.
    if (lstat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) && file.st_nlink == 1) {
      disk.held += 512.0 * static_cast<double>(file.st_blocks);
    }
  }
  return disk;
}

void require(double bytes, double room, const std::string& what) {
  if (bytes <= room) return;
  throw UserError(what + " need up to " + bytes_in_full(bytes) + " of disk, and " +
                  bytes_in_full(room) + " are free; make room, or use a smaller --scale");
}

// Everything is in a checkpoint. When the run ends, the model is written beside one of them.
DiskNeeds needs_with_tables_in_memory(const RunOptions& options, const SaveOptions& keeping) {
  const ModelShape& shape = options.model.shape;
  const bool several = keeping.every_steps > 0 || keeping.every_seconds > 0.0;
  const auto tables = static_cast<double>(shape.table_bytes());
  const double one = (1.0 + static_cast<double>(state_floats(options.plan.table_rule))) * tables +
                     static_cast<double>(shape.parameters()) * sizeof(float) +
                     static_cast<double>(shape.total_rows()) * sizeof(Step);
  DiskNeeds needs;
  if (keeping.release) needs.model = tables;
  needs.checkpoints = std::max(one, (several ? kCheckpoints : 1.0) * one - needs.model);
  return needs;
}

}  // namespace

DiskNeeds disk_needs(const RunOptions& options, const SaveOptions& keeping, bool kept) {
  if (!options.table_folder) {
    return kept ? needs_with_tables_in_memory(options, keeping) : DiskNeeds{};
  }
  const ModelShape& shape = options.model.shape;
  const double row = static_cast<double>(shape.dim) * sizeof(float) + kIndex;
  DiskNeeds needs;
  double held = 0.0;
  for (const RowId rows : shape.table_rows) {
    const double read = options.task.has_held_out() ? static_cast<double>(rows)
                                                    : rows_read(rows, options.plan.steps, options);
    const double copies = kept ? 2.0 * rows_read(rows, interval(options, keeping), options) : 0.0;
    needs.tables += (read + copies) * row * kGrowth + kTable;
    held += read;
  }
  if (!kept) return needs;
  needs.checkpoints = kCheckpoints * (static_cast<double>(shape.parameters()) * sizeof(float) +
                                      held * sizeof(Step));
  if (keeping.release) needs.model = static_cast<double>(shape.table_bytes());
  return needs;
}

void require_disk_for(const RunOptions& options, const SaveOptions& keeping,
                      const std::string& out) {
  const DiskNeeds needs = disk_needs(options, keeping, !out.empty());
  const double rest = needs.checkpoints + needs.model;
  const std::string kept = "checkpoints and model in '" + out + "'";
  const auto disk_of_run = [&] { return disk_of(out, out + "/checkpoint"); };
  if (!options.table_folder) {
    if (!out.empty()) require(rest, disk_of_run().room(), kept);
    return;
  }
  const std::string tables = "tables in '" + *options.table_folder + "'";
  const Disk there = disk_of(*options.table_folder, *options.table_folder);
  if (out.empty()) return require(needs.tables, there.room(), tables);
  const Disk run = disk_of_run();
  if (there.device == run.device) {
    return require(needs.tables + rest, there.room() + run.held, tables + ", " + kept);
  }
  require(needs.tables, there.room(), tables);
  require(rest, run.room(), kept);
}

}  // namespace lazydp::cli
