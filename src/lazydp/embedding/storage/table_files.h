#pragma once
// Embedding tables that need not fit into memory: a folder of row files.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/io/folder.h"
#include "lazydp/base/types.h"
#include "lazydp/embedding/storage/row_file.h"
#include "lazydp/embedding/table.h"
#include "lazydp/random/seed.h"

namespace lazydp {

// The saved state of tables in files: all that is needed to find their rows again.
struct TablePlaces {
  std::string id = {};  // id of the files
  std::uint32_t epoch = 0;
  std::vector<RowId> held = {};           // number of rows that were ever needed, by table
  std::vector<std::uint64_t> seals = {};  // checksums of these rows, by table
};

// The ids of a step's rows, by table; ids may repeat.
using RowsOfTables = std::span<const std::span<const RowId>>;

// All tables of a model in a folder. Its contents are secret, like a checkpoint: they are rows
// whose noise is still owed. Only the folder's owner may read it.
class TableFiles {
 public:
  // `run`, if given, is the folder of the run that the tables belong to. Without it the files have
  // no names and are gone when the program ends. Throws UserError for a folder that holds anything
  // but tables.
  TableFiles(const std::string& folder, const std::optional<std::string>& run,
             std::span<const RowId> rows, std::size_t dim);

  std::span<Table> tables() { return tables_; }
  std::uint64_t bytes() const;  // on the disk
  const RowFile& file(std::size_t table) const { return files_[table]; }

  // Returns, for a table, the function that fills in rows that were never needed: the first weights
  // of a seed, or other values that the caller chooses.
  using FirstValues = std::function<RowFile::FirstValues(std::size_t table)>;
  FirstValues first_weights(const Seed& seed) const;

  // Sets the tables to their first values and clears the files. Throws UserError if the files
  // belong to another run.
  void start(const FirstValues& first);

  // Restores the tables as they were. Throws UserError if the files belong to another run, IoError
  // if they are damaged. Changes nothing in the files until forget_later() is called.
  void go_back(const TablePlaces& places, const FirstValues& first);
  void forget_later();

  // Makes these rows readable and writable until the epoch ends.
  void prepare(RowsOfTables ids);
  // Prefetches rows that will be prepared soon; does nothing while all rows that were ever used may
  // be in memory.
  void will_need(RowsOfTables ids);

  // Writes everything to the device. The tables can be found again by the result once end_epoch()
  // has confirmed that the result was saved.
  TablePlaces keep();
  void end_epoch();

  // Clears the files: the rows are stored elsewhere.
  void discard();

 private:
  void open_folder();
  void read_owner();
  void write_owner();

  std::string folder_;
  std::optional<std::string> run_;  // the run that may find the files again
  std::optional<FolderLock> lock_;
  std::string id_;     // id of the files' contents; empty: no contents
  std::string owner_;  // the run that put it there
  std::uint32_t epoch_ = 1;
  std::uint64_t room_;  // bytes that may stay in memory, approximately
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
