// bench_kernels [--table-gb N] [--benchmark_* …]: the kernels beside their references.

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "benchmarks/kernels/compare.h"
#include "benchmarks/kernels/kernels.h"

int main(int count, char** given) {
  double gigabytes = 4.0;
  std::vector<char*> arguments;
  for (int i = 0; i < count; ++i) {
    if (std::strcmp(given[i], "--table-gb") == 0 && i + 1 < count) {
      gigabytes = std::atof(given[++i]);
    } else {
      arguments.push_back(given[i]);
    }
  }
  if (!(gigabytes >= 0.001 && gigabytes <= 1000.0)) {
    std::fprintf(stderr, "bench_kernels: --table-gb must be between 0.001 and 1000\n");
    return 2;
  }
  int left = static_cast<int>(arguments.size());
  benchmark::Initialize(&left, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(left, arguments.data())) return 2;

  const auto bytes = static_cast<std::size_t>(gigabytes * 1e9);
  lazydp::bench::add_noise_benchmarks();
  lazydp::bench::add_sweep_benchmarks(bytes);
  lazydp::bench::add_row_benchmarks(bytes);
  lazydp::bench::add_pooling_benchmarks(bytes);
  lazydp::bench::add_gemm_benchmarks();
  lazydp::bench::run_and_report();
  return 0;
}
