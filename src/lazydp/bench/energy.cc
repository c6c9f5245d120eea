#include "lazydp/bench/energy.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "lazydp/base/io/folder.h"

namespace lazydp {
namespace {

namespace fs = std::filesystem;

template <class Value>
std::optional<Value> first_of(const fs::path& file) {
  std::ifstream in(file);
  Value value;
  if (!(in >> value)) return std::nullopt;
  return value;
}

// intel-rapl:0 is a package, intel-rapl:0:1 a part of it. Parts are counted in their package,
// except memory, which has a counter of its own.
std::optional<EnergyCounter> read_zone(const fs::path& folder) {
  const std::string place = folder.filename().string();
  const auto depth = std::ranges::count(place, ':');
  const auto name = first_of<std::string>(folder / "name");
  if (!place.starts_with("intel-rapl:") || !name) return std::nullopt;
  const bool counts = *name == "dram" || (depth == 1 && name->starts_with("package"));
  const auto microjoules = first_of<std::uint64_t>(folder / "energy_uj");
  const auto range = first_of<std::uint64_t>(folder / "max_energy_range_uj");
  if (!counts || !microjoules || !range) return std::nullopt;
  return EnergyCounter{*name, *microjoules, *range};
}

}  // namespace

EnergyCounters energy_counters(const std::string& powercap) {
  EnergyCounters counters;
  std::error_code missing;
  std::vector<fs::path> folders = entries_of(powercap, missing);
  std::ranges::sort(folders);
  for (const fs::path& folder : folders) {
    if (auto zone = read_zone(folder)) counters.zones.push_back(std::move(*zone));
  }
  return counters;
}

std::optional<double> EnergyCounters::joules_since(const EnergyCounters& before) const {
  const bool same =
      std::ranges::equal(zones, before.zones, {}, &EnergyCounter::zone, &EnergyCounter::zone);
  if (zones.empty() || !same) return std::nullopt;
  double microjoules = 0.0;
  for (std::size_t i = 0; i < zones.size(); ++i) {
    const std::uint64_t now = zones[i].microjoules;
    const std::uint64_t then = before.zones[i].microjoules;
    microjoules += static_cast<double>(now >= then ? now - then : now + (zones[i].range - then));
  }
  return microjoules * 1e-6;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace lazydp
