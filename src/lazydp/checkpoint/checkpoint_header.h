#pragma once
// The head of a checkpoint: enough to make a trainer that can take the rest.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lazydp/checkpoint/sealed_file.h"
#include "lazydp/embedding/storage/table_files.h"
#include "lazydp/model/score_scaling.h"
#include "lazydp/privacy/ledger_json.h"
#include "lazydp/random/seed.h"

namespace lazydp {

// Whether every row of a state has all its noise.
enum class Settled : std::uint8_t { no, yes };

// Describes, in the head, the dense optimizer's state, which stands at the file's end.
struct OptimizerHead {
  std::string rule = {};
  Step steps = 0;
  std::uint64_t bytes = 0;
};

// A file with all weights of a run, every row settled through `step`. Tables in files read from it
// the rows that they have not needed since.
struct SettledRows {
  std::string name = {};  // within the folder of checkpoints; empty: there is none yet
  std::string blake2b = {};
  Step step = 0;

  bool exist() const { return !name.empty(); }
};

// Says where the rows are of tables that are in files.
struct StoredTables {
  TablePlaces places;   // slots of rows that were needed; unused in a settled state
  SettledRows settled;  // source of all other rows, once the run had a settled state
};

struct CheckpointHead {
  Step step = 0;
  bool settled = false;  // no row is late, and `seed` is that of the steps to come
  Json settings = {};    // the writer's; a run continues only under equal ones
  Seed seed;
  Ledger spent = {};
  std::optional<ScoreScaling> score_scaling = {};  // of a model that is calibrated
  std::string no_claim = {};  // why nothing may be claimed for these steps; empty if something may
  std::string unit = {};      // the unit that they protect, in words
  Json sections = {};         // the sections that follow: names and sizes
  OptimizerHead optimizer = {};             // the dense weights' optimizer; its state comes last
  std::string save = {};                    // tells one save from another, where there are parts
  int parts = 0;                            // files beside this one, of the ranks that wrote it
  std::optional<StoredTables> tables = {};  // none: they are among the sections
  // The clock of tables: numbers_a_step numbers for each of the steps 1 … step; none where a
  // settled state owes nothing.
  std::size_t numbers_a_step = 2;
  std::vector<double> clock = {};

  Settled is_settled() const { return settled ? Settled::yes : Settled::no; }
};

// Writes any JSON to a sealed file, its length first.
void write_json(SealedWriter& file, const Json& json);
Json read_json(SealedReader& file);

void write_head(SealedWriter& file, const CheckpointHead& head);

// Throws IoError, with the path, for a file without a head. Allocates at most as many bytes as the
// file holds.
CheckpointHead read_head(SealedReader& file);

}  // namespace lazydp
