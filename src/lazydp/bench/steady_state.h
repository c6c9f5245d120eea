#pragma once
// Makes a fresh trainer's rows as late as they would be in the middle of a long run.

#include "lazydp/data/synthetic/access_law.h"
#include "lazydp/train/trainer.h"

namespace lazydp {

// With fresh histories every row would owe a step or two, and LazyDP without aggregation would look
// free. After long training the steps since a row was last read are geometric with the row's
// probability of being read in a step; every row is given such an age.
class SteadyState {
 public:
  // Each table is asked for `lookups` ids in a step, drawn by `law`.
  SteadyState(std::span<const Table> tables, AccessLaw law, double lookups);

  // The steps that have passed: ages are cut at ten times the mean lateness, and at a million
  // steps. A trainer's plan must have them before its own.
  Step passed() const { return passed_; }

  // Skips the first passed() steps of a fresh trainer's plan, in which nothing is trained and only
  // the tables become late: no model comes of it. Returns the mean lateness of a row at the moment
  // it is read; NaN where rows never wait.
  double make_rows_late(Trainer& trainer) const;

 private:
  AccessLaw law_;
  double lookups_;
  double distinct_ = 0.0;  // rows that a step reads, on average
  Step passed_ = 0;
};

}  // namespace lazydp
