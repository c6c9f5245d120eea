#include "lazydp/cli/omp_spin.h"

#include <unistd.h>

#include <array>
#include <cstdlib>

namespace lazydp::cli {

void wait_politely(char** words) {
  constexpr const char* kSpins = "GOMP_SPINCOUNT";
  if (std::getenv(kSpins) != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  // By its own path: started as /proc/self/exe the program would be called "exe" in process lists.
  std::array<char, 4096> program{};
  const ssize_t length = readlink("/proc/self/exe", program.data(), program.size() - 1);
  if (length <= 0 || length == static_cast<ssize_t>(program.size()) - 1) return;
  constexpr const char* kFew = "1000";  // some microseconds of spinning
  if (setenv(kSpins, kFew, 1) != 0) return;
  execv(program.data(), words);  // returns only if it fails, and then nothing is lost
}

}  // namespace lazydp::cli
