#pragma once
// The one training loop.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lazydp/base/stages.h"
#include "lazydp/clip/gradient_method.h"
#include "lazydp/data/batch_queue.h"
#include "lazydp/data/dataset.h"
#include "lazydp/data/samplers.h"
#include "lazydp/embedding/storage/table_files.h"
#include "lazydp/embedding/table.h"
#include "lazydp/model/model.h"
#include "lazydp/noise/dense_optimizer.h"
#include "lazydp/noise/table_optimizer.h"
#include "lazydp/privacy/ledger.h"
#include "lazydp/random/noise_source.h"
#include "lazydp/shard/row_exchange.h"
#include "lazydp/train/plan.h"

namespace lazydp {

// What a step did. All of it is computed from private data: only those who may see the data may
// see it, and it is no part of the released model.
struct StepReport {
  Step step = 0;
  std::size_t examples = 0;  // of all ranks
  double mean_loss = 0.0;    // over examples whose loss is finite; NaN for an empty batch
  StageClock::Seconds seconds{};
  RowTraffic rows;
  bool stop = false;  // some rank was asked to
};

// The parts of a trainer that a checkpoint keeps and a release reads. Valid as long as the trainer.
struct TrainingState {
  Model& model;
  std::span<Table> tables;
  const TableStorage& storage;
  TableOptimizer& table_optimizer;
  StepClock& clock;
  DenseOptimizer& dense_optimizer;
  CommThread& comm;  // the way to the other ranks, if there are any
};

// `model`, `tables`, `dataset`, `sampler` and the storage's files outlive the trainer.
class Trainer {
 public:
  // All of the run is here. Throws UserError for an algorithm that writes every row at every step,
  // if the tables are in files.
  Trainer(const Plan& plan, const Performance& performance, const Seed& seed, Model& model,
          Pooling pooling, std::span<Table> tables, const Dataset& dataset, const Sampler& sampler,
          const TableStorage& storage = TableStorage::memory());

  // `tables` and `sampler` are this rank's part of a run that several take together; every rank
  // calls the same in the same order.
  Trainer(const Plan& plan, const Performance& performance, const Seed& seed, Model& model,
          Pooling pooling, std::span<Table> tables, const Dataset& dataset, const Sampler& sampler,
          const TableStorage& storage, std::unique_ptr<RowExchange> exchange);

  Trainer(const Trainer&) = delete;  // its parts refer to each other
  Trainer& operator=(const Trainer&) = delete;

  // Takes the next step. `stop` asks all ranks to: they hear of it in the same report. Throws
  // PrivacyError once last_step() has been taken.
  const StepReport& step(bool stop = false);

  // Logits for a batch that is not trained on. Settles the rows it reads.
  std::span<const float> predict(const Batch& batch);

  // Only after this may the tables leave the trainer. Not for tables in files: settled_rows() is.
  void settle_all(const std::function<void(std::uint64_t rows)>& progress = {});

  // What settle_all() would make of rows first, first + 1, … of a table. They themselves still
  // wait. May be called by several threads.
  void settled_rows(std::size_t table, RowId first, std::span<float> values);

  // Goes on where another trainer was when it had spent `spent`; its clock has been restored by the
  // caller, and weights and histories are as they were then. `no_claim`: why nothing may be claimed
  // for those steps, if so; a ledger does not tell.
  void restore(Ledger spent, std::string no_claim);

  Step now() const { return tables_.clock->now(); }

  // The plan's last, or the last that its budget pays for.
  Step last_step() const { return last_step_; }

  TrainingState state();

  // Whether a folder of checkpoints holds an unsettled state of this run: a release must then leave
  // the settled one in its place.
  bool kept() const { return kept_; }
  void mark_kept() { kept_ = true; }

  const Plan& plan() const { return plan_; }
  const Ledger& ledger() const { return ledger_; }
  const Seed& seed() const { return seed_; }
  const Sampler& sampler() const { return sampler_; }
  Microbatches microbatches() const { return method_->microbatches(); }

  // Whether neither the noise nor the Poisson samples can be predicted.
  bool draws_in_secret() const {
    return seed_.secret() && (!sampler_.poisson() || sampler_.secret());
  }

  // Why nothing may be claimed for steps before those that this trainer took, in the state it was
  // restored from; empty if something may, for the unit that this one protects.
  const std::string& no_claim_before() const { return no_claim_before_; }

 private:
  void require_may_step() const;
  Step open_step();
  void settle_and_pool(Step t, Step settled_through, const Batch& batch);
  Tallies tallies(const Batch& batch, bool stop) const;
  void report(Step t, const Batch& batch, const Tallies& sums);

  Plan plan_;
  Performance performance_;
  Seed seed_;
  Model& model_;
  std::span<Table> weights_;
  TableStorage storage_;
  const Sampler& sampler_;
  std::unique_ptr<RowExchange> exchange_;

  NoiseSource noise_;
  BatchQueue queue_;
  std::unique_ptr<GradientMethod> method_;
  DenseOptimizer dense_;
  ClockedTables tables_;
  Ledger ledger_;

  Step last_step_ = 0;
  bool kept_ = false;
  std::string no_claim_before_;
  StageClock stages_;
  Gradient gradient_;
  StepReport report_;
  RowTraffic traffic_before_;
};

}  // namespace lazydp
