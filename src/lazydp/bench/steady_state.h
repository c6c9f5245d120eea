#pragma once
// Makes a fresh trainer's rows as late as they would be in the middle of a long run.

#include "lazydp/data/synthetic/access_law.h"
#include "lazydp/train/trainer.h"

namespace lazydp {

// Gives every row of a fresh trainer a random lateness, for benchmarks: with fresh histories every
// row would owe a step or two, and LazyDP without aggregation would look free. After long training
// the steps since a row was last read are geometric with the row's probability p of being read in a
// step; every row is given such an age. `lookups` is the number of ids that a table gets in a step.
// Ages are cut at ten times the mean lateness, and at a million steps.
//
// Returns the mean lateness of a row at the moment it is read.
double pre_age(Trainer& trainer, std::span<const Table> tables, AccessLaw law, double lookups);

}  // namespace lazydp
