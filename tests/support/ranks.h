#pragma once
// The runs of runs.h, on several ranks together.

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "lazydp/data/samplers.h"
#include "lazydp/shard/rank_exchange.h"
#include "tests/support/runs.h"

namespace lazydp::oracle {

// A world of which this rank holds a part; it starts with the values of World.
struct RankWorld {
  World whole;
  Layout layout;
  std::vector<Table> tables;
  Communicator& ranks;
  std::unique_ptr<Sampler> sampler;

  RankWorld(Communicator& all, const Settings& s, RowId small)
      : whole(s.shape, s.key, s.sampling_rate, 40, s.examples_per_unit),
        layout(s.shape.table_rows, all.size(), small),
        tables(make_tables(layout, all.rank(), s.shape.dim)),
        ranks(all),
        sampler(make_part_of_sample(*whole.sampler, all.rank(), all.size())) {
    for (std::size_t k = 0; k < tables.size(); ++k) {
      for (RowId r = 0; r < tables[k].rows(); ++r) {
        std::ranges::copy(whole.tables[k].row(tables[k].first_row() + r), tables[k].row(r).begin());
      }
    }
  }

  std::unique_ptr<RowExchange> exchange() {
    return std::make_unique<RankExchange>(ranks, layout, tables, whole.shape.mode);
  }

  // Every parameter, on rank 0, as World::weights() has them.
  std::vector<float> weights() {
    std::vector<float> out;
    out.assign(whole.model.parameters().begin(), whole.model.parameters().end());
    for (std::size_t k = 0; k < tables.size(); ++k) {
      for (int p = 0; p < ranks.size(); ++p) {
        if (layout.copied(k) && p > 0) continue;
        const RowRange range = layout.range(k, p);
        std::vector<float> part(static_cast<std::size_t>(range.count) * tables[k].dim());
        if (p == ranks.rank()) std::copy_n(tables[k].row(0).data(), part.size(), part.data());
        ranks.broadcast(std::as_writable_bytes(std::span(part)), p);
        out.insert(out.end(), part.begin(), part.end());
      }
    }
    return out;
  }
};

inline std::vector<float> train_on(Communicator& ranks, std::string_view algorithm,
                                   const Settings& s, RowId small) {
  RankWorld world(ranks, s, small);
  Trainer trainer(plan_of(algorithm, s), {.settle_ahead = s.ahead}, world.whole.seed,
                  world.whole.model, s.shape.mode, world.tables, world.whole.data, *world.sampler,
                  TableStorage::memory(), world.exchange());
  for (Step t = 1; t <= s.steps; ++t) {
    trainer.step();
    if (s.evaluate && t % 3 == 0) {
      std::vector<ExampleId> some = {t % 40, (t + 11) % 40};
      keep_part(some, ranks.rank(), ranks.size());
      Batch batch;
      world.whole.data.read(some, batch);
      trainer.predict(batch);
    }
  }
  if (s.settle) trainer.settle_all();
  return world.weights();
}

}  // namespace lazydp::oracle
