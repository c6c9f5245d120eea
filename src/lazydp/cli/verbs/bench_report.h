#pragma once
// The numbers of `bench steps`, for people and for machines.

#include <ostream>
#include <vector>

#include "lazydp/bench/bench_options.h"
#include "lazydp/bench/interleaved_steps.h"
#include "lazydp/cli/run/run_json.h"

namespace lazydp::cli {

void print_bench(std::ostream& out, const BenchOptions& options,
                 const std::vector<Measured>& measured);

// Step times leave out drawing the batch, which stands apart as data_ms; `ratios` has both
// directions of every pair.
Json json_of(const BenchOptions& options, const std::vector<Measured>& measured);

}  // namespace lazydp::cli
