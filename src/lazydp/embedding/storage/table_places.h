#pragma once
// Where tables in files have their rows: what it takes to find them again.

#include <cstdint>
#include <string>
#include <vector>

#include "lazydp/base/types.h"

namespace lazydp {

struct TablePlaces {
  std::string id = {};  // of the files
  std::uint32_t epoch = 0;
  std::vector<RowId> held = {};           // rows that were ever needed, a table
  std::vector<std::uint64_t> seals = {};  // of their bytes, a table
};

}  // namespace lazydp
