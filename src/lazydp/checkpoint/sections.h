#pragma once
// The large parts of a checkpoint: rows of tables in memory, histories, dense weights.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "lazydp/checkpoint/checkpoint_header.h"
#include "lazydp/checkpoint/sealed_file.h"
#include "lazydp/embedding/storage/table_files.h"
#include "lazydp/noise/dense_optimizer.h"
#include "lazydp/train/plan_json.h"
#include "lazydp/train/trainer.h"

namespace lazydp {

// With tables in memory: rows of an array, one after the other. Any ranks can read what other ranks
// wrote: rows have global numbers.
struct Section {
  std::string name;
  RowRange rows;               // the rows that these bytes are
  RowId whole = 0;             // rows of the whole array
  std::span<std::byte> bytes;  // on this rank
};

enum class Which : std::uint8_t {
  common,  // held by every rank: dense weights, copied tables
  own      // held by this rank alone
};
// Returns the sections of a state. A settled state has no history.
std::vector<Section> row_sections(const TrainingState& state, Settled settled, Which which);

Json json_of(std::span<const Section> sections);
void write_rows(SealedWriter& file, std::span<const Section> sections);

// Reads a file's sections into memory, and counts rows: in the end every row must have been read.
class SectionReader {
 public:
  SectionReader(const TrainingState& state, Settled settled);

  // Returns whether a file whose sections are described by `json` holds anything for this rank.
  // Throws UserError if the sections are not those of this state.
  bool wants(const Json& json) const;

  // Reads the sections, and skips rows of other ranks.
  void read(SealedReader& file, const Json& json);

  // Throws UserError unless every row of every section has been read.
  void require_all() const;

 private:
  struct Place {
    Section section;
    RowId received = 0;
  };
  std::size_t place_of(const Json& section) const;

  std::vector<Place> places_;
};

// With tables in files: describes the sections and their sizes, in the order of the file. A settled
// state has no history; rows are not in a checkpoint, nor are histories of rows that were never
// needed.
Json sections_of(const TrainingState& state, Settled settled);

void write_sections(SealedWriter& file, const TrainingState& state, Settled settled);

// Reads the sections. The caller has put the tables in place; rows that were never needed are
// settled through `first`.
void read_sections(SealedReader& file, const TrainingState& state, Settled settled, Step first);

// Returns a reader of a settled state's rows, which stay in the file they were written to until a
// row is needed. Throws IoError if the file at `path` is not the one that was written, UserError if
// it holds no such tables.
TableFiles::FirstValues rows_of_file(const std::string& path, const SettledRows& rows);

OptimizerHead head_of(DenseOptimizer& optimizer);

void write_state(SealedWriter& file, DenseOptimizer& optimizer);

// Reads the dense optimizer's state. A run that branches from a settled state may choose another
// rule, which begins afresh. Throws UserError for another rule, or another number of weights, if
// the state is not settled.
void read_state(SealedReader& file, const OptimizerHead& there, Settled settled,
                DenseOptimizer& optimizer);

}  // namespace lazydp
