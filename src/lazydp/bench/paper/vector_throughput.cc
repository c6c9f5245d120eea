// Measures vector throughput over operations per loaded vector, with this project's two kernels on
// the curve.

#include <algorithm>
#include <array>
#include <functional>

#include "lazydp/base/memory.h"
#include "lazydp/base/parallel.h"
#include "lazydp/base/stages.h"
#include "lazydp/bench/paper/experiments.h"
#include "lazydp/bench/paper/findings.h"
#include "lazydp/kernels/intensity.h"
#include "lazydp/kernels/noise.h"
#include "lazydp/kernels/vector.h"
#include "lazydp/report/chart.h"

namespace lazydp::paper {
namespace {

constexpr std::array kDoses = {1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128};
constexpr std::size_t kBlock = std::size_t{1} << 16;  // floats of one task
constexpr int kRepeats = 3;

// Returns the best time of a few sweeps over n floats, in parallel.
double seconds_of(std::size_t n, const std::function<void(std::size_t, std::size_t)>& block) {
  double best = 1e300;
  for (int i = 0; i <= kRepeats; ++i) {  // the first sweep warms up
    const Stopwatch watch;
    parallel_blocks(n, kBlock, block);
    if (i > 0) best = std::min(best, watch.seconds());
  }
  return best;
}

struct Floats {
  explicit Floats(std::size_t n)
      : memory(n * sizeof(float)), values(static_cast<float*>(memory.data()), n) {
    parallel_blocks(n, kBlock, [&](std::size_t begin, std::size_t end) {
      std::ranges::fill(values.subspan(begin, end - begin), 1.0f);
    });
  }
  HugeMemory memory;
  std::span<float> values;
};

}  // namespace

Findings vector_throughput(Measurer& measurer) {
  const std::size_t n = measurer.scale().vector_floats;
  const auto count = static_cast<double>(n);
  const Floats x(n);
  const Floats y(n);
  const auto of = [](const Floats& floats, std::size_t begin, std::size_t end) {
    return floats.values.subspan(begin, end - begin);
  };

  Findings findings;
  findings.sheet.columns = {"what", "operations_a_vector", "billion_operations_a_second",
                            "gigabytes_a_second", "standing"};
  const auto add = [&](const std::string& what, double operations, double seconds, double bytes) {
    findings.sheet.add({what, cell(operations), cell(operations * count / seconds * 1e-9),
                        cell(bytes * count / seconds * 1e-9),
                        std::string(name_of(Standing::measured))});
  };
  ChartLine curve;
  curve.name = "multiply-adds";
  double peak = 0.0;
  double bandwidth = 0.0;
  constexpr double kReadAndWritten = 2 * sizeof(float);
  for (const int dose : kDoses) {
    const double seconds = seconds_of(
        n, [&](std::size_t begin, std::size_t end) { multiply_add_each(of(x, begin, end), dose); });
    add("multiply-adds", dose, seconds, kReadAndWritten);
    const double rate = dose * count / seconds * 1e-9;
    curve.points.push_back({.x = static_cast<double>(dose), .y = rate});
    peak = std::max(peak, rate);
    bandwidth = std::max(bandwidth, kReadAndWritten * count / seconds * 1e-9);
  }

  const AesKey key = expand_key({1});
  const double noise_operations = noise_operations_a_vector();
  const double noise_seconds = seconds_of(n, [&](std::size_t begin, std::size_t end) {
    fill_normals(key, {.high = begin, .refined_low = kBlock}, of(x, begin, end));
  });
  add("noise sampling", noise_operations, noise_seconds, sizeof(float));
  const double noise_rate = noise_operations * count / noise_seconds * 1e-9;

  constexpr double kUpdateOperations = 2;  // a product and a sum, as the paper counts
  constexpr double kUpdateBytes = 3 * sizeof(float);
  const double update_seconds = seconds_of(n, [&](std::size_t begin, std::size_t end) {
    add_scaled(0.0f, of(x, begin, end), of(y, begin, end));
  });
  add("noise update", kUpdateOperations, update_seconds, kUpdateBytes);
  const double update_bandwidth = kUpdateBytes * count / update_seconds * 1e-9;

  const auto dot = [](const std::string& name, double x_at, double y_at) {
    ChartLine line;
    line.name = name;
    line.points.push_back({.x = x_at, .y = y_at});
    return line;
  };
  LineChart chart =
      empty_lines("Vector throughput",
                  size_text(count * sizeof(float)) + ", " + std::to_string(thread_count()) +
                      " threads, vectors of " + std::to_string(vector_lanes()) + " floats",
                  "operations a loaded vector", "billion operations a second");
  chart.x.scale = ChartAxis::Scale::logarithmic;
  chart.y.scale = ChartAxis::Scale::logarithmic;
  chart.lines.push_back(curve);
  chart.lines.push_back(dot("noise sampling", noise_operations, noise_rate));
  chart.lines.push_back(
      dot("noise update", kUpdateOperations, kUpdateOperations * count / update_seconds * 1e-9));
  findings.pictures.push_back({"", svg_of(chart)});
  findings.comparisons = {
      {"noise sampling, operations a vector", "101", fixed(noise_operations, 1),
       "short polynomials, four normals' latency hidden behind each other, and AES instructions "
       "for the random words; counted with the cipher's rounds"},
      {"noise sampling, share of the peak", "81 % (215 G operations a second)",
       percent(noise_rate / peak) + " (" + fixed(noise_rate, 0) + " of " + fixed(peak, 0) +
           " G); " + fixed(count / noise_seconds * 1e-9, 2) + " G normals a second",
       "a multiply-add counts as one operation; roots, conversions and the cipher use other units "
       "than it"},
      {"noise update, share of memory bandwidth", "85.5 % of the theoretical",
       percent(update_bandwidth / bandwidth) + " (" + fixed(update_bandwidth, 1) + " of " +
           fixed(bandwidth, 1) + " GB/s)",
       "of the most that the curve streams on this machine, whose theoretical one we don't know"}};
  return findings;
}

}  // namespace lazydp::paper
