#pragma once
// The large parts of a checkpoint of tables that are in files: dense weights and histories.

#include "lazydp/checkpoint/sealed_file.h"
#include "lazydp/train/plan_json.h"
#include "lazydp/train/trainer.h"

namespace lazydp {

// What there is and how large, in the order of the file. A settled state has no history; rows are
// not in a checkpoint, nor are histories of rows that were never needed.
Json sections_of(Trainer& trainer, bool settled);

void write_sections(SealedWriter& file, Trainer& trainer, bool settled);

// The trainer's tables are in place; rows that were never needed are settled through `first`.
void read_sections(SealedReader& file, Trainer& trainer, bool settled, Step first);

}  // namespace lazydp
