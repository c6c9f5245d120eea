#include "lazydp/shard/launch.h"

#include <array>
#include <cstdlib>

namespace lazydp {
namespace {

// The first of these variables that holds a number.
template <std::size_t N>
int number_of(const std::array<const char*, N>& names, int otherwise) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    char* end = nullptr;
    const long number = std::strtol(value, &end, 10);
    if (*end == '\0' && number >= 0 && number < 1'000'000) return static_cast<int>(number);
  }
  return otherwise;
}

}  // namespace

// As Open MPI, MPICH and Slurm with either say it. Slurm alone is not enough: a batch script has
// its variables too.
Launched launched() {
  constexpr std::array kSizes = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
  constexpr std::array kRanks = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
  const bool by_pmix = std::getenv("PMIX_RANK") != nullptr;
  constexpr std::array kTasks = {"SLURM_STEP_NUM_TASKS"};
  const int size = number_of(kSizes, by_pmix ? number_of(kTasks, 1) : 1);
  return {.rank = number_of(kRanks, 0), .size = size};
}

}  // namespace lazydp
