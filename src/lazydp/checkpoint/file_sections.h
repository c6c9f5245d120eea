#pragma once
// The large parts of a checkpoint of tables that are in files: dense weights and histories.

#include <string>

#include "lazydp/checkpoint/checkpoint_header.h"
#include "lazydp/checkpoint/sealed_file.h"
#include "lazydp/embedding/storage/table_files.h"
#include "lazydp/train/plan_json.h"
#include "lazydp/train/trainer.h"

namespace lazydp {

// Describes the sections and their sizes, in the order of the file. A settled state has no history;
// rows are not in a checkpoint, nor are histories of rows that were never needed.
Json sections_of(const TrainingState& state, Settled settled);

void write_sections(SealedWriter& file, const TrainingState& state, Settled settled);

// Reads the sections. The caller has put the tables in place; rows that were never needed are
// settled through `first`.
void read_sections(SealedReader& file, const TrainingState& state, Settled settled, Step first);

// Returns a reader of a settled state's rows, which stay in the file they were written to until a
// row is needed. Throws IoError if the file at `path` is not the one that was written, UserError if
// it holds no such tables.
TableFiles::FirstValues rows_of_file(const std::string& path, const SettledRows& rows);

}  // namespace lazydp
