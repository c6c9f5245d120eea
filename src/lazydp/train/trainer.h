#pragma once
// The one training loop.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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
#include "lazydp/model/frozen_parts.h"
#include "lazydp/model/model.h"
#include "lazydp/model/score_scaling.h"
#include "lazydp/noise/dense_optimizer.h"
#include "lazydp/noise/table_optimizer.h"
#include "lazydp/privacy/ledger.h"
#include "lazydp/random/noise_source.h"
#include "lazydp/random/stream.h"
#include "lazydp/shard/row_exchange.h"
#include "lazydp/train/plan.h"

namespace lazydp {

// The results of a step. All of them are computed from private data: only those with access to the
// data may see them, and they are no part of the released model.
struct StepReport {
  Step step = 0;
  std::size_t examples = 0;  // on all ranks
  double mean_loss = 0.0;    // over examples whose loss is finite; NaN for an empty batch
  StageClock::Seconds seconds{};
  RowTraffic rows;
  bool stop = false;  // some rank voted to stop
};

// The parts of a trainer that a checkpoint keeps and a release reads. Valid as long as the trainer.
struct TrainingState {
  Model& model;
  std::span<Table> tables;
  const TableStorage& storage;
  TableOptimizer& table_optimizer;
  StepClock& clock;
  DenseOptimizer& dense_optimizer;
  CommThread& comm;  // to the other ranks, if there are any
};

// `model`, `tables`, `dataset`, `sampler` and the storage's files must outlive the trainer.
class Trainer {
 public:
  // Makes the trainer of a run that has one rank. Throws UserError for an algorithm that writes
  // every row at every step, if the tables are in files.
  Trainer(const Plan& plan, const Performance& performance, const Seed& seed, Model& model,
          Pooling pooling, std::span<Table> tables, const Dataset& dataset, const Sampler& sampler,
          const TableStorage& storage = TableStorage::memory());

  // Makes one rank's trainer of a run of several: `tables` and `sampler` are this rank's part.
  // Every rank makes the same calls in the same order.
  Trainer(const Plan& plan, const Performance& performance, const Seed& seed, Model& model,
          Pooling pooling, std::span<Table> tables, const Dataset& dataset, const Sampler& sampler,
          const TableStorage& storage, std::unique_ptr<RowExchange> exchange);

  Trainer(const Trainer&) = delete;  // its parts refer to each other
  Trainer& operator=(const Trainer&) = delete;

  // Takes the next step. `stop` asks all ranks to stop: they learn of it in the same report. Throws
  // PrivacyError once last_step() has been taken.
  const StepReport& step(bool stop = false);

  // Returns the logits of a batch that is not trained on. Settles the rows it reads.
  std::span<const float> predict(const Batch& batch);

  // Returns whether the plan calibrates scores, its steps have been taken, and that has not.
  bool may_calibrate() const {
    return plan_.calibrates_scores && now() == plan_.steps && !scaling_;
  }

  // Records on the ledger that the scores of all examples are counted, and returns the noise to
  // count with; then the caller says by what the counts scale the scores, until the next step.
  RandomStream open_calibration();
  void scale_scores(const ScoreScaling& scaling) { scaling_ = scaling; }
  const std::optional<ScoreScaling>& score_scaling() const { return scaling_; }

  // Settles every row: only after this may the tables leave the trainer. For tables in files use
  // settled_rows() instead.
  void settle_all(const std::function<void(std::uint64_t rows)>& progress = {});

  // Writes to `values` what settle_all() would make of rows first, first + 1, … of a table. The
  // rows themselves still wait. Several threads may call it concurrently.
  void settled_rows(std::size_t table, RowId first, std::span<float> values);

  // Continues where another trainer was when it had spent `spent`; the caller has restored the
  // clock, the weights and the histories as they were then. `no_claim`: why nothing may be claimed
  // for those steps, if so; a ledger does not tell.
  void restore(Ledger spent, std::string no_claim, const std::optional<ScoreScaling>& scaling = {});

  Step now() const { return tables_.clock->now(); }

  // Returns the plan's last step, or the last that its budget pays for.
  Step last_step() const { return last_step_; }

  TrainingState state();

  // Returns whether a folder of checkpoints holds an unsettled state of this run: a release must
  // then replace it by the settled one.
  bool kept() const { return kept_; }
  void mark_kept() { kept_ = true; }

  const Plan& plan() const { return plan_; }
  const Ledger& ledger() const { return ledger_; }
  // Returns the ledger as it will be after last_step().
  Ledger planned_ledger() const;
  const Seed& seed() const { return seed_; }
  const Sampler& sampler() const { return sampler_; }
  Microbatches microbatches() const { return method_->microbatches(); }

  // Returns whether neither the noise nor, where privacy relies on that, the samples can be
  // predicted.
  bool draws_in_secret() const {
    return seed_.secret() && (!relies_on_secrecy(sampler_.sampling()) || sampler_.secret());
  }

  // Returns why nothing may be claimed for the steps before those that this trainer took, in the
  // state it was restored from; empty if something may, for the unit that this one protects.
  const std::string& no_claim_before() const { return no_claim_before_; }

 private:
  void require_may_step() const;
  Step open_step();
  PooledRows settle_and_pool(RequestedRows&& rows, Step settled_through, const Batch& batch);
  Tallies tallies(const Batch& batch, bool stop) const;
  void report(Step t, const Batch& batch, const Tallies& sums);

  Plan plan_;
  Performance performance_;
  Seed seed_;
  Model& model_;
  PartlyFrozenModel trained_model_;
  std::span<Table> weights_;
  TableStorage storage_;
  const Sampler& sampler_;
  std::unique_ptr<RowExchange> exchange_;
  RequestedRows next_rows_;  // those of the step after this one, if they were asked for

  NoiseSource noise_;
  BatchQueue queue_;
  std::unique_ptr<GradientMethod> method_;
  DenseOptimizer dense_;
  ClockedTables tables_;
  Ledger ledger_;

  Step last_step_ = 0;
  bool kept_ = false;
  std::string no_claim_before_;
  std::optional<ScoreScaling> scaling_;  // of the scores, once they are calibrated
  std::vector<float> scaled_;
  StageClock stages_;
  Gradient gradient_;
  StepReport report_;
  RowTraffic traffic_before_;
};

}  // namespace lazydp
