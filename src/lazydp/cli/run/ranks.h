#pragma once
// The ranks that this program was started as, and what they agree on before they begin.

#include <string_view>

#include "lazydp/cli/run/run_options.h"
#include "lazydp/shard/communicator.h"

namespace lazydp::cli {

// Of this process: those a launcher started, or this one alone. There is one launcher and it is
// the process's, so this is too. The first call joins; throws UserError if that cannot be.
Communicator& ranks();

// Leaves them, once all have come here. Nothing happens if none were joined.
void leave_ranks();

// Of the flags, what this rank should heed: the first one speaks and writes, the others are quiet.
FlagTexts for_this_rank(const FlagTexts& given);

// How many threads a rank starts with, if nobody says: its share of the machine, and no more than
// the cores that the launcher bound it to.
int threads_of_rank();

// What `open` returns, on the first rank before the others begin, and on all before any goes on:
// for what one makes and all use.
template <class Open>
auto first_rank_first(Open&& open) {
  if (ranks().rank() != 0) ranks().barrier();
  auto opened = open();
  if (ranks().rank() == 0) ranks().barrier();
  ranks().barrier();
  return opened;
}

// Throws UserError on every rank, with the difference, unless all run the same program with the
// same settings on the same data, and would meet at the same places on the way.
void require_equal_ranks(const RunOptions& options, const FlagTexts& given);

// Throws UserError if there are several ranks: this verb is for one process.
void require_one_rank(std::string_view verb);

// The first rank's seed, on all of them.
Seed same_seed(const RunOptions& options);

}  // namespace lazydp::cli
