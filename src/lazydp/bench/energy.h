#pragma once
// The cost of work beside wall time: joules, where the machine counts them, and CPU seconds.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lazydp {

// A counter of microjoules that wraps to zero when it would reach `range`.
struct EnergyCounter {
  std::string zone;  // package-0, dram, ...
  std::uint64_t microjoules = 0;
  std::uint64_t range = 0;
};

struct EnergyCounters {
  std::vector<EnergyCounter> zones;

  // Returns the joules of all zones since `before`. Nothing if there are no zones, or others than
  // before.
  std::optional<double> joules_since(const EnergyCounters& before) const;
};

inline constexpr const char* kPowercap = "/sys/class/powercap";

// Reads the processor packages and their memory, by the kernel's powercap interface (RAPL). Returns
// no zones where that is missing or not readable. A zone inside another (cores in a package) is
// part of it and not counted twice; memory stands beside its package.
EnergyCounters energy_counters(const std::string& powercap = kPowercap);

// Returns the CPU time of all threads of this process, in user and system mode.
double cpu_seconds();

}  // namespace lazydp
