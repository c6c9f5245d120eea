#pragma once
// A run small enough to be broken often, with its tables in memory or in files.

#include <gtest/gtest.h>

#include <filesystem>
#include <ostream>
#include <string>

#include "tests/cli/child.h"

namespace lazydp::cli {

// Tables of 2 x 4,000 rows of 64 floats: growing files grow more than once.
inline Words run_of(const std::string& out, int steps, const Words& more) {
  return Words{"train",     "--quiet",
               "--rows",    "4000,3000",
               "--dim",     "64",
               "--bottom",  "13-8-64",
               "--top",     "8-1",
               "--pooling", "3",
               "--batch",   "64",
               "--threads", "1",
               "--seed",    "5",
               "--out",     out,
               "--steps",   std::to_string(steps)} +
         more;
}

inline bool has_checkpoint(const Workplace& at, const std::string& run) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (fs::directory_iterator i(at / (run + "/checkpoint"), ignored), end; !ignored && i != end;
       i.increment(ignored)) {
    if (i->path().extension() == ".unsettled") return true;
  }
  return false;
}

struct Storage {
  const char* name;
  Words flags;
};
inline std::ostream& operator<<(std::ostream& out, const Storage& storage) {
  return out << storage.name;
}

class WithEitherStorage : public testing::TestWithParam<Storage> {};

inline auto storages() {
  return testing::Values(Storage{"memory", {}},
                         Storage{"files", {"--table-storage", "file:tables"}});
}

inline std::string storage_name(const testing::TestParamInfo<Storage>& tested) {
  return tested.param.name;
}

}  // namespace lazydp::cli
