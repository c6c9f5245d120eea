// Bags of 80 rows of 32 floats: pooled and, with gradients, the other way; and the distinct rows
// among their ids.

#include <memory>

#include "benchmarks/kernels/compare.h"
#include "benchmarks/kernels/kernels.h"
#include "benchmarks/kernels/tables.h"
#include "lazydp/base/parallel.h"
#include "lazydp/kernels/prefetch.h"
#include "lazydp/noise/history.h"
#include "lazydp/noise/sgd_tables.h"

namespace lazydp::bench {
namespace {

constexpr Shape kShape = {.tables = 10, .dim = 32, .bags = 2048, .pooling = 80};
constexpr std::size_t kAhead = 32;     // rows that are on their way from memory
constexpr double kMediumSkew = 1.029;  // nine look-ups of ten meet a tenth of the rows

struct Pools {
  explicit Pools(std::size_t bytes, double skew)
      : work({kShape.tables, kShape.dim, kShape.bags, kShape.pooling, skew}, bytes),
        noise(Seed::fixed(1)),
        plain(NoisePolicy::none, work.tables(), clock, noise, WeightDecay::off) {
    for (const Table& table : work.tables()) histories.emplace_back(table.rows());
    late.resize(kShape.tables);
  }

  Workload work;
  VarianceClock clock;
  NoiseSource noise;
  SgdTables plain;
  StageClock stages;
  std::vector<History> histories;
  std::vector<std::vector<LateRow>> late;
  Step now = 0;
};

// The random-row stream: every row is fetched ahead and read, and nothing is done with it.
void stream(Pools& pools) {
  const std::span<const Bags> bags = pools.work.next_bags();
  parallel_for(kShape.tables, [&](std::size_t k) {
    const float* table = pools.work.tables()[k].row(0).data();
    const std::vector<RowId>& ids = bags[k].ids;
    const auto row = [&](std::size_t i) {
      return table + static_cast<std::size_t>(ids[i]) * kShape.dim;
    };
    float sum = 0.0f;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (i + kAhead < ids.size()) prefetch_row(row(i + kAhead), kShape.dim);
      sum += row(i)[0] + row(i)[16];
    }
    benchmark::DoNotOptimize(sum);
  });
}

// Reads the rows as above, and writes to each of a row's lines.
void write_stream(Pools& pools) {
  const std::span<const Bags> bags = pools.work.next_bags();
  parallel_for(kShape.tables, [&](std::size_t k) {
    float* table = pools.work.tables()[k].row(0).data();
    const std::vector<RowId>& ids = bags[k].ids;
    const auto row = [&](std::size_t i) {
      return table + static_cast<std::size_t>(ids[i]) * kShape.dim;
    };
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (i + kAhead < ids.size()) prefetch_row(row(i + kAhead), kShape.dim);
      row(i)[0] += 1e-9f;
      row(i)[16] += 1e-9f;
    }
  });
}

void forward(Pools& pools) {
  pools.plain.settle_and_pool(pools.now, pools.work.next_bags(), Pooling::sum, pools.work.pooled(),
                              pools.stages);
}

void adjoint(Pools& pools) {
  const Step t = pools.clock.open(1e-9, 0.0, 1.0);
  pools.plain.apply(t, pools.work.gradients(pools.work.next_bags()), pools.stages);
}

void distinct(Pools& pools) {
  ++pools.now;
  const std::span<const Bags> bags = pools.work.next_bags();
  for (std::size_t k = 0; k < kShape.tables; ++k) {
    pools.late[k].clear();
    claim_late_rows(pools.histories[k], pools.now, bags[k].ids, {}, pools.late[k]);
  }
}

}  // namespace

void add_pooling_benchmarks(std::size_t table_bytes) {
  static std::unique_ptr<Pools> uniform, skewed;
  const auto make = [table_bytes](std::unique_ptr<Pools>& made, double skew) -> Pools& {
    if (!made) made = std::make_unique<Pools>(table_bytes, skew);
    return *made;
  };
  const auto timed = [&](const char* name, void (*what)(Pools&), int threads, double skew) {
    std::unique_ptr<Pools>& made = skew > 0.0 ? skewed : uniform;
    add(Timed{name, threads, kShape.ids(), "row",
              [make, &made, skew, what] { what(make(made, skew)); }});
  };
  timed("pooling/80 rows of 32 floats", forward, 2, 0.0);
  timed("pooling/80 rows of 32 floats, adjoint", adjoint, 2, 0.0);
  timed("pooling/read random rows alone", stream, 2, 0.0);
  timed("pooling/write random rows alone", write_stream, 2, 0.0);
  timed("dedup/uniform ids", distinct, 1, 0.0);
  timed("dedup/skewed ids", distinct, 1, kMediumSkew);
  add(Claim{.what = "pooling beside reading random rows",
            .ours = "pooling/80 rows of 32 floats",
            .references = {"pooling/read random rows alone"},
            .most = 1.3});
  add(Claim{.what = "its adjoint beside writing random rows",
            .ours = "pooling/80 rows of 32 floats, adjoint",
            .references = {"pooling/write random rows alone"},
            .most = 1.3});
  for (const char* ids : {"dedup/uniform ids", "dedup/skewed ids"}) {
    add(Claim{
        .what = std::string(ids) + ": 8 ns an id", .ours = ids, .items_per_second = 1e9 / 8.0});
  }
}

}  // namespace lazydp::bench
