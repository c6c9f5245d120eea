#pragma once
// The ranks that this program was started as, and their agreement on the run before it begins.

#include <string_view>

#include "lazydp/cli/options/run_options.h"
#include "lazydp/shard/communicator.h"

namespace lazydp::cli {

// Returns the ranks of this process: those a launcher started, or this one alone. A process has one
// launcher, so it has one communicator. The first call joins the ranks; throws UserError if it
// cannot.
Communicator& ranks();

// Leaves the ranks once all have called it. Does nothing if none were joined.
void leave_ranks();

// Returns the flags for this rank: the first rank prints and writes, the others are quiet.
FlagTexts for_this_rank(const FlagTexts& given);

// Returns the number of threads of a rank for which no flag sets it: its share of the machine, and
// no more than the cores that the launcher bound it to.
int threads_of_rank();

// Returns open(), called on the first rank before the others begin, and on all before any
// continues: for files that one rank makes and all use.
template <class Open>
auto first_rank_first(Open&& open) {
  if (ranks().rank() != 0) ranks().barrier();
  auto opened = open();
  if (ranks().rank() == 0) ranks().barrier();
  ranks().barrier();
  return opened;
}

// Throws UserError on every rank, with the difference, unless all run the same program with the
// same settings on the same data, and would synchronise at the same steps.
void require_equal_ranks(const RunOptions& options, const FlagTexts& given);

// Throws UserError if there are several ranks: this verb is for one process.
void require_one_rank(std::string_view verb);

// Returns the first rank's seed, on all ranks.
Seed same_seed(const RunOptions& options);

}  // namespace lazydp::cli
