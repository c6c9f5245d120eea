// Energy counters are read correctly from a folder that looks like the kernel's.

#include "lazydp/bench/energy.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.h"

namespace lazydp {
namespace {

class Powercap : public TemporaryFolder {
 public:
  void zone(const std::string& place, const std::string& name, std::uint64_t microjoules) const {
    const auto folder = *this / place;
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "name") << name << "\n";
    std::ofstream(folder / "energy_uj") << microjoules << "\n";
    std::ofstream(folder / "max_energy_range_uj") << 1'000'000'000 << "\n";
  }
  EnergyCounters read() const { return energy_counters(path().string()); }
};

TEST(Energy, CountsPackagesAndMemoryOnceAndCoresNotAgain) {
  const Powercap machine;
  machine.zone("intel-rapl:0", "package-0", 5'000'000);
  machine.zone("intel-rapl:0:0", "core", 4'000'000);
  machine.zone("intel-rapl:0:1", "dram", 1'000'000);
  machine.zone("intel-rapl:1", "package-1", 7'000'000);
  machine.zone("dtpm", "package-9", 1);
  const EnergyCounters before = machine.read();
  ASSERT_EQ(before.zones.size(), 3u);
  machine.zone("intel-rapl:0", "package-0", 7'500'000);
  machine.zone("intel-rapl:0:0", "core", 6'000'000);
  machine.zone("intel-rapl:0:1", "dram", 1'250'000);
  EXPECT_DOUBLE_EQ(machine.read().joules_since(before).value(), 2.75);
}

TEST(Energy, GoesOnWhereACounterBeginsAgain) {
  const Powercap machine;
  machine.zone("intel-rapl:0", "package-0", 999'000'000);
  const EnergyCounters before = machine.read();
  machine.zone("intel-rapl:0", "package-0", 2'000'000);
  EXPECT_DOUBLE_EQ(machine.read().joules_since(before).value(), 3.0);
}

TEST(Energy, IsNotANumberWhereNothingCanBeRead) {
  const Powercap empty;
  EXPECT_FALSE(empty.read().joules_since(empty.read()));
  const EnergyCounters missing = energy_counters((empty / "nowhere").string());
  EXPECT_TRUE(missing.zones.empty());
  EXPECT_FALSE(missing.joules_since(missing));
}

TEST(Energy, CoresAreBusyWhileTheyWork) {
  const double before = cpu_seconds();
  volatile double sum = 0.0;
  while (cpu_seconds() - before < 0.01) sum = sum + 1.0;
  EXPECT_GT(cpu_seconds(), before);
}

}  // namespace
}  // namespace lazydp
