#pragma once
// How look-ups are spread over the rows of a table.

#include <cstdint>

#include "lazydp/base/types.h"
#include "lazydp/data/synthetic/scatter.h"

namespace lazydp {

// Zipf's law, or evenly when the exponent is 0. The rows that are looked up most are scattered over
// the table, as they are in life.
struct AccessLaw {
  double zipf_exponent = 0.0;
};

// With what probability a look-up meets a row, for rows in the order of their ranks.
class AccessOdds {
 public:
  AccessOdds(AccessLaw law, RowId rows);

  RowId row(std::uint64_t rank) const { return scatter_(rank); }
  double probability(std::uint64_t rank) const;

 private:
  AccessLaw law_;
  Scatter scatter_;
  double norm_;  // the sum of 1 / (k + 1)^exponent over ranks k
};

}  // namespace lazydp
