#pragma once
// What work costs beside time: joules, where the machine counts them, and seconds of its cores.

#include <cstdint>
#include <string>
#include <vector>

namespace lazydp {

// A counter of microjoules that begins again at zero once it would reach `range`.
struct EnergyCounter {
  std::string zone;  // package-0, dram, ...
  std::uint64_t microjoules = 0;
  std::uint64_t range = 0;
};

struct EnergyCounters {
  std::vector<EnergyCounter> zones;

  // Of all zones. NaN if there are none, or other ones than before.
  double joules_since(const EnergyCounters& before) const;
};

inline constexpr const char* kPowercap = "/sys/class/powercap";

// The processor packages and their memory, by the kernel's powercap interface (RAPL). No zones
// where that is missing or not for us to read. A zone inside another (cores in a package) is part
// of it and not counted twice; memory stands beside its package.
EnergyCounters energy_counters(const std::string& powercap = kPowercap);

// Of all threads of this process, in user and system mode.
double cpu_seconds();

}  // namespace lazydp
