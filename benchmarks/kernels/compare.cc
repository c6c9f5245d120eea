#include "benchmarks/kernels/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "lazydp/base/parallel.h"

namespace lazydp::bench {
namespace {

std::vector<Claim>& claims() {
  static std::vector<Claim> all;
  return all;
}

struct Measured {
  std::vector<double> seconds;  // an item, one for each repetition
  std::string unit;

  double quantile(double q) const {
    std::vector<double> sorted = seconds;
    std::ranges::sort(sorted);
    return sorted[static_cast<std::size_t>(
        std::lround(q * static_cast<double>(sorted.size() - 1)))];
  }
};

// Keeps every repetition, beside what the console shows.
class Collector : public benchmark::ConsoleReporter {
 public:
  Collector() : ConsoleReporter(OO_Tabular) {}

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
      const double items = run.counters.at("items").value;
      measured[run.run_name.function_name].seconds.push_back(
          run.real_accumulated_time / static_cast<double>(run.iterations) / items);
      measured[run.run_name.function_name].unit = run.report_label;
    }
  }

  std::map<std::string, Measured> measured;
};

// Rows and ids by the time that one takes, all else by how many there are in a second.
std::string rate(double per_second, const std::string& unit) {
  char text[64];
  if (unit == "row" || unit == "id") {
    std::snprintf(text, sizeof text, "%.1f ns/%s", 1e9 / per_second, unit.c_str());
  } else {
    std::snprintf(text, sizeof text, "%.3g G %ss/s", per_second * 1e-9, unit.c_str());
  }
  return text;
}

void print(const Claim& claim, const std::map<std::string, Measured>& measured) {
  const auto ours = measured.find(claim.ours);
  if (ours == measured.end()) return;  // filtered out, or not for this CPU
  const double median = ours->second.quantile(0.5);
  const std::string unit = ours->second.unit;
  if (claim.references.empty()) {
    const double quarter = 1.0 / ours->second.quantile(0.25);
    std::printf("%-58s %-20s best quarter %-20s wanted %s  %s\n", claim.what.c_str(),
                rate(1.0 / median, unit).c_str(), rate(quarter, unit).c_str(),
                rate(claim.items_per_second, unit).c_str(),
                quarter >= claim.items_per_second ? "met" : "NOT MET");
    return;
  }
  std::vector<double> references;
  for (const std::string& name : claim.references) {
    const auto reference = measured.find(name);
    if (reference != measured.end()) references.push_back(reference->second.quantile(0.5));
  }
  if (references.empty()) return;
  const auto [fastest, slowest] = std::ranges::minmax(references);
  const double beside = claim.beside == Beside::slowest ? slowest : fastest;
  std::printf("%-58s %-20s beside %-20s ratio %.3f, at most %.3f  %s\n", claim.what.c_str(),
              rate(1.0 / median, unit).c_str(), rate(1.0 / beside, unit).c_str(), median / beside,
              claim.most, median / beside <= claim.most ? "met" : "NOT MET");
}

}  // namespace

void add(const Timed& timed) {
  benchmark::RegisterBenchmark(timed.name.c_str(), [timed](benchmark::State& state) {
    set_thread_count(timed.threads);
    for (auto _ : state) timed.run();
    state.counters["items"] = timed.items;
    state.SetLabel(timed.unit);
  })->UseRealTime();
}

void add(Claim claim) {
  claims().push_back(std::move(claim));
}

void run_and_report() {
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector);
  std::printf("\n");
  for (const auto& [name, measured] : collector.measured) {
    std::printf("%-58s %-20s (quarter %.2f … %.2f of the median, %zu repetitions)\n", name.c_str(),
                rate(1.0 / measured.quantile(0.5), measured.unit).c_str(),
                measured.quantile(0.25) / measured.quantile(0.5),
                measured.quantile(0.75) / measured.quantile(0.5), measured.seconds.size());
  }
  std::printf("\n");
  for (const Claim& claim : claims()) print(claim, collector.measured);
}

}  // namespace lazydp::bench
