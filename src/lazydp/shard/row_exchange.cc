#include "lazydp/shard/row_exchange.h"

#include "lazydp/base/error.h"

namespace lazydp {

RowExchange& ExchangeHandle::exchange() const {
  check(exchange_ != nullptr, "a handle of an exchange that waits for its next call");
  return *exchange_;
}

RowExchange& ExchangeHandle::use_up() {
  RowExchange& used = exchange();
  exchange_ = nullptr;
  return used;
}

std::span<const TableGradient> SentGradients::receive(StageClock& stages) && {
  return use_up().receive(step(), stages);
}

SentGradients PooledRows::send(std::span<const TableGradient> tables, StageClock& stages) && {
  RowExchange& exchange = use_up();
  exchange.send(step(), tables, stages);
  return {exchange, step()};
}

std::span<const Ids> RequestedRows::rows(StageClock& stages) const {
  return exchange().requested(step(), stages);
}

PooledRows RequestedRows::settle_and_pool(Step through, const Batch& batch,
                                          TableOptimizer& optimizer,
                                          std::span<const MatrixView> pooled, StageClock& stages,
                                          const std::function<void()>& meanwhile) && {
  RowExchange& exchange = use_up();
  exchange.settle_and_pool(step(), through, batch, optimizer, pooled, stages, meanwhile);
  return {exchange, step()};
}

Tallies PendingSum::finish(StageClock& stages) && {
  return use_up().finish_sum(stages);
}

void LocalExchange::request(Step t, const Batch& batch, StageClock& stages) {
  Asked& asked = slot(t);
  check(t == 0 || asked.step < t, "the rows of a step are asked for once");
  asked.step = t;
  asked.ids.clear();
  for (const Bags& bags : batch.bags) asked.ids.emplace_back(bags.ids);
  storage_.will_need(asked.ids);
  stages.lap(Stage::data);
}

std::span<const Ids> LocalExchange::requested(Step t, StageClock&) {
  const Asked& asked = slot(t);
  check(asked.step == t, "the rows of this step, not of one that was asked for since");
  storage_.prepare(asked.ids);
  return asked.ids;
}

void LocalExchange::settle_and_pool(Step t, Step through, const Batch& batch,
                                    TableOptimizer& optimizer, std::span<const MatrixView> pooled,
                                    StageClock& stages, const std::function<void()>&) {
  requested(t, stages);
  optimizer.settle_and_pool(through, batch.bags, pooling_, pooled, stages);
}

}  // namespace lazydp
