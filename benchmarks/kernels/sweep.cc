// Eager noise on every row, beside its two bounds: making the noise, and reading and writing the
// memory.

#include <memory>
#include <vector>

#include "benchmarks/kernels/compare.h"
#include "benchmarks/kernels/kernels.h"
#include "lazydp/base/parallel.h"
#include "lazydp/embedding/table.h"
#include "lazydp/kernels/vector.h"
#include "lazydp/noise/sgd_tables.h"

namespace lazydp::bench {
namespace {

constexpr std::size_t kDim = 128;
constexpr std::size_t kBlock = std::size_t{1} << 18;

struct Eager {
  explicit Eager(std::size_t bytes)
      : noise(Seed::fixed(1)),
        updates(NoisePolicy::every_row, tables_of(bytes), clock, noise, WeightDecay::off) {}

  std::span<Table> tables_of(std::size_t bytes) {
    tables.emplace_back(TableId{0}, static_cast<RowId>(bytes / (kDim * sizeof(float))), kDim);
    return tables;
  }
  std::span<float> weights() {
    return {tables[0].row(0).data(), static_cast<std::size_t>(tables[0].rows()) * kDim};
  }

  std::vector<Table> tables;
  VarianceClock clock;
  NoiseSource noise;
  SgdTables updates;
  StageClock stages;
  Bags no_bags;
};

void sweep(Eager& eager) {
  const Step t = eager.clock.open(1e-9, 1.0, 1.0);
  const TableGradient none = {&eager.no_bags, Pooling::sum, {}};
  eager.updates.apply(t, {&none, 1}, eager.stages);
}

// Adds the same noise to rows that stay in a core's cache.
void noise_alone(Eager& eager) {
  const NoiseCells cells =
      eager.noise.table(0, eager.tables[0].rows(), kDim, CellKind::each_step, 1);
  constexpr std::size_t kRows = kBlock / kDim;
  parallel_blocks(eager.weights().size(), kBlock, [&](std::size_t begin, std::size_t end) {
    thread_local std::vector<float> row(16 * kDim);
    std::vector<NoisyRow> rows;
    rows.reserve(kRows);
    for (std::size_t i = begin / kDim; i < end / kDim; ++i) {
      rows.push_back({row.data() + i % 16 * kDim, i, 1.0f, 1.0f});
    }
    cells.add(rows, kDim);
  });
}

void read_and_write(Eager& eager) {
  const std::span<float> all = eager.weights();
  parallel_blocks(all.size(), kBlock, [&](std::size_t begin, std::size_t end) {
    scale(1.0f, all.subspan(begin, end - begin));
  });
}

}  // namespace

void add_sweep_benchmarks(std::size_t table_bytes) {
  static std::unique_ptr<Eager> made;
  const auto eager = [table_bytes]() -> Eager& {
    if (!made) made = std::make_unique<Eager>(table_bytes);
    return *made;
  };
  const double items = static_cast<double>(table_bytes) / sizeof(float);
  const auto timed = [&](const char* name, void (*what)(Eager&)) {
    add(Timed{name, 2, items, "float", [eager, what] { what(eager()); }});
  };
  timed("sweep/eager noise and add", sweep);
  timed("sweep/noise alone", noise_alone);
  timed("sweep/read and write alone", read_and_write);
  constexpr double kShare = 0.8;
  add(Claim{.what = "eager noise: 80 % of the rate of its slower bound",
            .ours = "sweep/eager noise and add",
            .references = {"sweep/noise alone", "sweep/read and write alone"},
            .most = 1.0 / kShare});
}

}  // namespace lazydp::bench
