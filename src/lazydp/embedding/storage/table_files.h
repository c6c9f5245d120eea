#pragma once
// Tables that need not fit into memory: a folder of row files.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/io/folder_lock.h"
#include "lazydp/base/types.h"
#include "lazydp/embedding/storage/row_file.h"
#include "lazydp/embedding/table.h"
#include "lazydp/random/seed.h"

namespace lazydp {

// Where tables in files have their rows: what it takes to find them again.

struct TablePlaces {
  std::string id = {};  // of the files
  std::uint32_t epoch = 0;
  std::vector<RowId> held = {};           // rows that were ever needed, a table
  std::vector<std::uint64_t> seals = {};  // of their bytes, a table
};

// The rows of a step, by table; they may repeat.
using RowsOfTables = std::span<const std::span<const RowId>>;

// What the folder holds is secret, like a checkpoint: rows that wait for noise. It is made for its
// owner alone.
class TableFiles {
 public:
  // `run`, if any, is the folder of the run whose tables these are. Without one the files have no
  // names and are gone when the program ends. Throws UserError for a folder that holds anything
  // else than tables.
  TableFiles(const std::string& folder, const std::optional<std::string>& run,
             std::span<const RowId> rows, std::size_t dim);

  std::span<Table> tables() { return tables_; }
  std::uint64_t bytes() const;  // on the disk
  const RowFile& file(std::size_t table) const { return files_[table]; }

  // What rows hold that were never needed, a table: the first weights of a seed, or what somebody
  // else says.
  using FirstValues = std::function<RowFile::FirstValues(std::size_t table)>;
  FirstValues first_weights(const Seed& seed) const;

  // The tables as at the start; whatever the files held is gone. Throws UserError if that is not
  // the run's own.
  void start(const FirstValues& first);

  // The tables as they were. Throws UserError if the files are of another run, IoError if they are
  // damaged. Nothing in them has changed before forget_later() says that the rest may go.
  void go_back(const TablePlaces& places, const FirstValues& first);
  void forget_later();

  // These rows may be read and written until the epoch ends.
  void prepare(RowsOfTables ids);
  // They will be soon; does nothing while all that was ever used may be in memory.
  void will_need(RowsOfTables ids);

  // Everything is on the device, and can be found again by what is returned, once end_epoch() has
  // said that this was written down.
  TablePlaces keep();
  void end_epoch();

  // Leaves nothing in the files: the rows are elsewhere.
  void discard();

 private:
  void open_folder();
  void read_owner();
  void write_owner();

  std::string folder_;
  std::optional<std::string> run_;  // who may find the files again
  std::optional<FolderLock> lock_;
  std::string id_;     // of what is in the files; empty: nothing
  std::string owner_;  // the run that put it there
  std::uint32_t epoch_ = 1;
  std::uint64_t room_;  // in memory, about
  std::vector<RowFile> files_;
  std::vector<Table> tables_;
};

// Where the tables of a trainer lie: in memory, or in files.
class TableStorage {
 public:
  static TableStorage memory() { return TableStorage(nullptr); }
  // `files` outlive it.
  static TableStorage in(TableFiles& files) { return TableStorage(&files); }

  bool in_files() const { return files_ != nullptr; }
  TableFiles& files() const {
    check(in_files(), "the tables are in files");
    return *files_;
  }

  // Rows in memory are always ready.
  void prepare(RowsOfTables ids) const {
    if (in_files()) files_->prepare(ids);
  }
  void will_need(RowsOfTables ids) const {
    if (in_files()) files_->will_need(ids);
  }

 private:
  explicit TableStorage(TableFiles* files) : files_(files) {}

  TableFiles* files_;
};

}  // namespace lazydp
