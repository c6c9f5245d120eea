// 53,248 random rows of 512 bytes in a table far larger than a cache: settled, updated, gathered.

#include <memory>

#include "benchmarks/kernels/compare.h"
#include "benchmarks/kernels/kernels.h"
#include "benchmarks/kernels/tables.h"
#include "lazydp/noise/sgd_tables.h"

namespace lazydp::bench {
namespace {

constexpr Shape kShape = {.tables = 26, .dim = 128, .bags = 2048, .pooling = 1};

struct Rows {
  explicit Rows(std::size_t bytes)
      : work(kShape, bytes),
        noise(Seed::fixed(1)),
        lazy(NoisePolicy::lazy_aggregated, work.tables(), clock, noise, WeightDecay::off),
        plain(NoisePolicy::none, work.tables(), clock, noise, WeightDecay::off) {}

  // Opens a step: every row is late again.
  Step pass() { return clock.open(1e-9, 1.0, 1.0); }

  Workload work;
  VarianceClock clock;
  NoiseSource noise;
  SgdTables lazy;
  SgdTables plain;
  StageClock stages;
  std::vector<Ids> ids;
};

void settle(Rows& rows) {
  const Step t = rows.pass();
  rows.ids.clear();
  for (const Bags& bags : rows.work.next_bags()) rows.ids.emplace_back(bags.ids);
  rows.lazy.settle(t, rows.ids, rows.stages);
}

void settle_and_gather(Rows& rows) {
  const Step t = rows.pass();
  rows.lazy.settle_and_pool(t, rows.work.next_bags(), Pooling::sum, rows.work.pooled(),
                            rows.stages);
}

void update(Rows& rows) {
  const Step t = rows.pass();
  rows.plain.apply(t, rows.work.gradients(rows.work.next_bags()), rows.stages);
}

void gather(Rows& rows) {
  const Step t = rows.pass();
  rows.plain.settle_and_pool(t, rows.work.next_bags(), Pooling::sum, rows.work.pooled(),
                             rows.stages);
}

}  // namespace

void add_row_benchmarks(std::size_t table_bytes) {
  static std::unique_ptr<Rows> made;
  const auto rows = [table_bytes]() -> Rows& {
    if (!made) made = std::make_unique<Rows>(table_bytes);
    return *made;
  };
  const auto timed = [&](const char* name, void (*what)(Rows&)) {
    add(Timed{name, 2, kShape.ids(), "row", [rows, what] { what(rows()); }});
  };
  timed("rows/lazy settle", settle);
  timed("rows/lazy settle and gather", settle_and_gather);
  timed("rows/plain update", update);
  timed("rows/plain gather", gather);
  add(Claim{.what = "lazy settle beside a plain sparse update",
            .ours = "rows/lazy settle",
            .references = {"rows/plain update"},
            .most = 1.6});
  add(Claim{.what = "lazy settle with the gather beside a plain gather",
            .ours = "rows/lazy settle and gather",
            .references = {"rows/plain gather"},
            .most = 2.3});
}

}  // namespace lazydp::bench
