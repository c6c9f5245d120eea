#include "lazydp/shard/row_exchange.h"

namespace lazydp {

void LocalExchange::ask(Step t, const Batch& batch, StageClock& stages) {
  Asked& asked = slot(t);
  if (t > 0 && asked.step == t) return;
  asked.step = t;
  asked.ids.clear();
  for (const Bags& bags : batch.bags) asked.ids.emplace_back(bags.ids);
  storage_.will_need(asked.ids);
  stages.lap(Stage::data);
}

std::span<const Ids> LocalExchange::asked(Step t, StageClock&) {
  const std::span<const Ids> ids = slot(t).ids;
  storage_.prepare(ids);
  return ids;
}

void LocalExchange::settle_and_pool(Step t, Step through, const Batch& batch,
                                    TableOptimizer& optimizer, std::span<const MatrixView> pooled,
                                    StageClock& stages, const std::function<void()>&) {
  storage_.prepare(slot(t).ids);
  optimizer.settle_and_pool(through, batch.bags, pooling_, pooled, stages);
}

}  // namespace lazydp
