#pragma once
// A kernel, the reference beside it, and what is asked of their ratio.

#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <vector>

namespace lazydp::bench {

// One thing that is timed: `run` does the work once, on as many threads as `threads`.
struct Timed {
  std::string name;
  int threads = 1;
  double items = 0.0;     // of work a run: normals, rows, ids, floating-point operations
  std::string unit = {};  // of one item: "normal", "row", …
  std::function<void()> run = {};
};

// "`ours` takes at most (or at least) so many times the time of `reference`", or, without a
// reference, "at least `at_least` items a second".
struct Claim {
  std::string what = {};
  std::string ours = {};
  std::string reference = {};
  double most = 0.0;            // of time(ours) / time(reference), per item
  double items_per_second = 0;  // instead, where there is no reference
};

// Registers with Google Benchmark, which interleaves the repetitions of everything in random order.
void add(Timed timed);
void add(Claim claim);

// Runs all that was registered and prints the claims beside what was measured.
void run_and_report();

}  // namespace lazydp::bench
