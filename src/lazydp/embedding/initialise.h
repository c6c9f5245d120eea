#pragma once
// The first weights of a table: uniform in ±sqrt(1 / rows), a pure function of (seed, table, row).

#include "lazydp/embedding/table.h"
#include "lazydp/random/seed.h"

namespace lazydp {

void initialise(Table& table, const Seed& seed);

}  // namespace lazydp
