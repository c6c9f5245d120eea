#pragma once
// Compares a kernel with its reference: the two, and the largest ratio that is allowed.

#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <vector>

namespace lazydp::bench {

// One thing that is timed: `run` does the work once, on as many threads as `threads`.
struct Timed {
  std::string name;
  int threads = 1;
  double items = 0.0;     // work in a run: normals, rows, ids, floating-point operations
  std::string unit = {};  // name of one item: "normal", "row", …
  std::function<void()> run = {};
};

enum class Beside { slowest, fastest };

// "`ours` takes at most `most` times the time of the slowest (fastest) of `references`", or,
// without references, "at least `items_per_second`".
struct Claim {
  std::string what = {};
  std::string ours = {};
  std::vector<std::string> references = {};
  Beside beside = Beside::slowest;
  double most = 0.0;            // largest ratio of the times of an item
  double items_per_second = 0;  // instead, where there is no reference
};

// Registers with Google Benchmark, which interleaves the repetitions of everything in random order.
void add(const Timed& timed);
void add(Claim claim);

// Runs all that was registered and prints the claims beside what was measured.
void run_and_report();

}  // namespace lazydp::bench
