#pragma once
// What comes first in a checkpoint: enough to make a trainer that can take the rest.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lazydp/checkpoint/sealed_file.h"
#include "lazydp/embedding/storage/table_files.h"
#include "lazydp/noise/dense_optimizer.h"
#include "lazydp/noise/variance_clock.h"
#include "lazydp/privacy/ledger.h"
#include "lazydp/random/seed.h"
#include "lazydp/train/plan_json.h"

namespace lazydp {

// Whether every row of a state has all its noise.
enum class Settled : std::uint8_t { no, yes };

// What the dense optimizer remembers, in a checkpoint.

// In the head: what stands at the file's end.
struct OptimizerHead {
  std::string rule = {};
  Step steps = 0;
  std::uint64_t bytes = 0;
};

OptimizerHead head_of(DenseOptimizer& optimizer);

void write_state(SealedWriter& file, DenseOptimizer& optimizer);

// Who branches from a settled state may choose another rule: that one begins afresh. UserError for
// another rule, or weights of another number, of a state that is not settled.
void read_state(SealedReader& file, const OptimizerHead& there, Settled settled,
                DenseOptimizer& optimizer);

// A file with all weights of a run, every row settled through `step`. Tables in files take from it
// what they have not needed since.
struct SettledRows {
  std::string name = {};  // within the folder of checkpoints; empty: there is none yet
  std::string blake2b = {};
  Step step = 0;

  bool exist() const { return !name.empty(); }
};

// Where the rows are of tables that are in files.
struct StoredTables {
  TablePlaces places;   // of rows that were needed; unused in a settled state
  SettledRows settled;  // of all others, once the run had a settled state
};

struct CheckpointHead {
  Step step = 0;
  bool settled = false;  // no row is behind, and `seed` is that of the steps to come
  Json settings = {};    // of whoever wrote it; a run goes on only under equal ones
  Seed seed;
  Ledger spent = {};
  std::string no_claim = {};  // why nothing may be claimed for these steps; empty if something may
  std::string unit = {};      // what they protect, in words
  Json sections = {};         // what follows: names and sizes
  OptimizerHead optimizer = {};             // of dense weights; what it remembers comes last
  std::string save = {};                    // tells one writing from another, where there are parts
  int parts = 0;                            // files beside this one, of ranks that wrote it
  std::optional<StoredTables> tables = {};  // none: they are among the sections
  // The clock of tables: so many numbers for each of the steps 1 … step; none where a settled state
  // owes nothing.
  std::size_t numbers_a_step = 2;
  std::vector<double> clock = {};

  Settled is_settled() const { return settled ? Settled::yes : Settled::no; }
};

// Any JSON in a sealed file, its length first.
void write_json(SealedWriter& file, const Json& json);
Json read_json(SealedReader& file);

void write_head(SealedWriter& file, const CheckpointHead& head);

// Throws IoError, with the path, for what is no head. Takes no more memory than the file has bytes.
CheckpointHead read_head(SealedReader& file);

}  // namespace lazydp
