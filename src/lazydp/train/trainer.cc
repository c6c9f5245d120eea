#include "lazydp/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/train/plan.h"

namespace lazydp {

Trainer::Trainer(const Plan& plan, const Performance& performance, const Seed& seed, Model& model,
                 Pooling pooling, std::span<Table> tables, const Dataset& dataset,
                 const Sampler& sampler, const TableStorage& storage)
    : Trainer(plan, performance, seed, model, pooling, tables, dataset, sampler, storage,
              std::make_unique<LocalExchange>(pooling, storage)) {}

Trainer::Trainer(const Plan& plan, const Performance& performance, const Seed& seed, Model& model,
                 Pooling pooling, std::span<Table> tables, const Dataset& dataset,
                 const Sampler& sampler, const TableStorage& storage,
                 std::unique_ptr<RowExchange> exchange)
    : plan_(plan),
      performance_(performance),
      seed_(seed),
      model_(model),
      trained_model_(model, plan.frozen),
      weights_(tables),
      storage_(storage),
      sampler_(sampler),
      exchange_(std::move(exchange)),
      noise_(seed, plan.normals_per_sample),
      queue_(dataset, sampler,
             performance.settle_ahead || exchange_->asks_ahead() ? LookAhead::on : LookAhead::off,
             performance.read_ahead ? Reading::ahead : Reading::on_the_spot),
      method_(make_gradient_method(plan.recipe.clip, pooling, performance.materialize_bytes)),
      dense_(plan.dense_rule, model.parameters().size(), trained_parameters(model, plan.frozen),
             plan.correlation),
      tables_(make_table_optimizer(
          {.rule = plan.table_rule,
           .policy = plan.recipe.noise,
           .decay = plan.weight_decay > 0.0 ? WeightDecay::on : WeightDecay::off,
           .passes = performance.passes,
           .correlation = plan.correlation,
           .frozen = plan_.frozen.tables},
          tables, noise_)) {
  plan_.validate();
  require_counted(plan, sampler);
  check(sampler.examples_per_unit() == plan.examples_per_unit, "units send what the plan says");
  model_.weigh_positives(static_cast<float>(plan.positive_weight));
  if (storage.in_files() && plan.recipe.writes_every_row()) {
    throw UserError(std::string(plan.recipe.name) +
                    " writes every row at every step and needs its tables in memory");
  }
  if (storage.in_files() && plan.table_rule != TableRule::sgd) {
    throw UserError("tables under " + std::string(table_rule_name(plan.table_rule)) +
                    " are kept in memory: what it remembers is as large as they");
  }
  tables_.clock->reserve(plan.steps);
  ledger_ = spent_before(plan_);
  last_step_ = last_affordable_step(plan_, at_beginning(plan_));
}

const StepReport& Trainer::step(bool stop) {
  stages_.start();
  require_may_step();
  const Step t = open_step();
  queue_.advance(t);
  const Batch& batch = queue_.current();
  stages_.lap(Stage::data);

  RequestedRows rows = next_rows_ ? std::move(next_rows_) : exchange_->ask(t, batch, stages_);
  PooledRows pooled = settle_and_pool(std::move(rows), t - 1, batch);
  if (queue_.looks_ahead()) next_rows_ = exchange_->ask(t + 1, queue_.next(), stages_);
  model_.forward(batch);
  stages_.lap(Stage::forward);
  SentGradients sent;
  const auto send = [&](auto tables) { sent = std::move(pooled).send(tables, stages_); };
  method_->compute(trained_model_, batch, clip_norm(plan_, t), gradient_, stages_, std::ref(send));
  PendingSum dense = exchange_->begin_sum(gradient_.dense, tallies(batch, stop));

  tables_.optimizer->apply(t, std::move(sent).receive(stages_), stages_);
  if (performance_.settle_ahead) {
    tables_.optimizer->settle(t, next_rows_.rows(stages_), stages_);
  }
  const Tallies sums = std::move(dense).finish(stages_);
  dense_.update(model_.parameters(), gradient_.dense, t, dense_step(plan_, t), noise_);
  stages_.lap(Stage::dense_update);

  report(t, batch, sums);
  return report_;
}

void Trainer::require_may_step() const {
  if (now() < last_step_) return;
  if (last_step_ >= plan_.steps) {
    throw PrivacyError("all " + std::to_string(plan_.steps) +
                       " steps of the plan have been taken: more need a plan that counts them");
  }
  throw PrivacyError("the budget is spent after step " + std::to_string(now()) +
                     ": the next step would exceed epsilon " +
                     std::to_string(plan_.budget->epsilon));
}

void Trainer::restore(Ledger spent, std::string no_claim,
                      const std::optional<ScoreScaling>& scaling) {
  check(report_.step == 0, "a trainer is restored before its first step");
  ledger_ = std::move(spent);
  if (now() == 0) ledger_.begin_run();  // what was spent before is another run's
  no_claim_before_ = std::move(no_claim);
  scaling_ = scaling;
  tables_.clock->reserve(plan_.steps);
  last_step_ = last_affordable_step(plan_, {now(), ledger_, tables_.clock->before_block()});
}

Ledger Trainer::planned_ledger() const {
  return ledger_through(plan_, {now(), ledger_, tables_.clock->before_block()}, last_step_);
}

TrainingState Trainer::state() {
  return {.model = model_,
          .tables = weights_,
          .storage = storage_,
          .table_optimizer = *tables_.optimizer,
          .clock = *tables_.clock,
          .dense_optimizer = dense_,
          .comm = exchange_->comm()};
}

// Records the step's mechanism in the ledger before anything is computed under it.
Step Trainer::open_step() {
  const Step t = now() + 1;
  scaling_.reset();
  ledger_.record(event_of(plan_, t, tables_.clock->before_block()));
  return tables_.clock->open(table_step(plan_, t));
}

// Settles every row before it is read: no row is read late.
PooledRows Trainer::settle_and_pool(RequestedRows&& rows, Step settled_through,
                                    const Batch& batch) {
  return std::move(rows).settle_and_pool(settled_through, batch, *tables_.optimizer,
                                         model_.begin_batch(batch.size), stages_,
                                         [&] { model_.begin_forward(batch); });
}

std::span<const float> Trainer::predict(const Batch& batch) {
  constexpr Step kNoStep = 0;
  settle_and_pool(exchange_->ask(kNoStep, batch, stages_), now(), batch);
  model_.forward(batch);
  if (!scaling_) return model_.logits();
  scaled_.clear();
  for (const float logit : model_.logits()) scaled_.push_back(scaling_->of(logit));
  return scaled_;
}

RandomStream Trainer::open_calibration() {
  constexpr TableId kCounts = 0;
  check(may_calibrate(), "scores are calibrated once, after the last step");
  ledger_.record(PrivacyEvent(Gaussian{calibration_noise(plan_), 1}));
  return {seed_, Purpose::calibration, kCounts, now()};
}

void Trainer::settle_all(const std::function<void(std::uint64_t)>& progress) {
  check(!storage_.in_files(), "tables in files are settled on their way out");
  tables_.optimizer->settle_all(now(), progress);
  check(tables_.optimizer->all_settled(now()), "no row is behind after settle_all");
}

void Trainer::settled_rows(std::size_t table, RowId first, std::span<float> values) {
  const Table& all = weights_[table];
  const auto count = static_cast<RowId>(values.size() / all.dim());
  if (storage_.in_files()) {
    storage_.files().file(table).copy(first, values);
  } else {
    std::copy_n(all.row(first).data(), values.size(), values.data());
  }
  Table window = Table::window(all, first, values);
  tables_.optimizer->settle_copy(now(), table, first, first + count, window);
}

// Returns the sum of finite losses, how many examples they count as, the number of examples, and
// the votes to stop.
Tallies Trainer::tallies(const Batch& batch, bool stop) const {
  double sum = 0.0;
  float finite = 0.0f;
  for (std::size_t i = 0; i < batch.size; ++i) {
    const float loss = model_.losses()[i];
    if (!std::isfinite(loss)) continue;
    sum += loss;
    finite += model_.weight_of(batch.labels[i]);
  }
  return {static_cast<float>(sum), finite, static_cast<float>(batch.size), stop ? 1.0f : 0.0f};
}

void Trainer::report(Step t, const Batch& batch, const Tallies& sums) {
  const auto [loss, finite, examples, stops] = sums;
  const RowTraffic& now = tables_.optimizer->traffic();
  std::uint64_t gathered = 0;
  for (const Bags& bags : batch.bags) gathered += bags.ids.size();
  report_ = {.step = t,
             .examples = static_cast<std::size_t>(examples),
             .mean_loss = finite > 0.0f ? static_cast<double>(loss) / static_cast<double>(finite)
                                        : std::numeric_limits<double>::quiet_NaN(),
             .seconds = stages_.seconds(),
             .rows = {.read = now.read - traffic_before_.read + gathered,
                      .written = now.written - traffic_before_.written},
             .stop = stops > 0.0f};
  traffic_before_ = now;
}

}  // namespace lazydp
