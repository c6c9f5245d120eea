#include "lazydp/base/system_memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace lazydp {
namespace {

constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

std::uint64_t first_number(const char* path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : kUnknown;  // "max" is no number: no limit
}

std::uint64_t left_of_machine() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::string unit;
  for (std::uint64_t kib = 0; file >> key >> kib; std::getline(file, unit)) {
    if (key == "MemAvailable:") return kib * 1024;
  }
  return kUnknown;
}

std::uint64_t left_of_control_group() {
  const std::uint64_t limit = first_number("/sys/fs/cgroup/memory.max");
  const std::uint64_t used = first_number("/sys/fs/cgroup/memory.current");
  if (limit == kUnknown || used == kUnknown) return kUnknown;
  return limit > used ? limit - used : 0;
}

}  // namespace

std::uint64_t available_memory() {
  return std::min(left_of_machine(), left_of_control_group());
}

std::uint64_t peak_resident_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace lazydp
