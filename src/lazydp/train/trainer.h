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
#include "lazydp/noise/sgd_tables.h"
#include "lazydp/noise/variance_clock.h"
#include "lazydp/privacy/ledger.h"
#include "lazydp/random/noise_source.h"
#include "lazydp/shard/row_exchange.h"
#include "lazydp/train/plan.h"

namespace lazydp {

// What a step did. All of it is computed from private data: it is for the eyes of whoever may see
// the data, and no part of the released model.
struct StepReport {
  Step step = 0;
  std::size_t examples = 0;  // of all ranks
  double mean_loss = 0.0;    // over examples whose loss is finite; NaN for an empty batch
  StageClock::Seconds seconds{};
  RowTraffic rows;
  bool stop = false;  // some rank was asked to
};

class CheckpointFolder;

// `model`, `tables`, `dataset`, `sampler` and `files` outlive the trainer.
class Trainer {
 public:
  // `files`: where the tables are, if they are not in memory. Throws UserError for an algorithm
  // that touches every row at every step: it needs them there.
  //
  // With an exchange, `tables` and `sampler` are this rank's part of a run that several take
  // together, and every rank calls the same in the same order; without, all is here.
  Trainer(const Plan& plan, const Performance& performance, const Seed& seed, Model& model,
          Pooling pooling, std::span<Table> tables, const Dataset& dataset, const Sampler& sampler,
          TableFiles* files = nullptr, Exchange* exchange = nullptr);

  Trainer(const Trainer&) = delete;  // its parts refer to each other
  Trainer& operator=(const Trainer&) = delete;

  // Takes the next step. Whoever sees a reason to stop says so: all ranks hear of it in the same
  // report. Throws PrivacyError once last_step() has been taken, or after release().
  const StepReport& step(bool stop = false);

  // Logits for a batch that is not trained on. Settles the rows it reads.
  std::span<const float> predict(const Batch& batch);

  // Only after this may the tables leave the trainer. Not for tables in files: settled_rows() is.
  void settle_all(const std::function<void(std::uint64_t rows)>& progress = {});

  // What settle_all() would make of rows first, first + 1, … of a table. They themselves still
  // wait. Called by several threads.
  void settled_rows(std::size_t table, RowId first, std::span<float> values);

  // Lets steps pass, beside those of the plan, in which no batch is drawn and nobody is late but
  // the tables: for benchmarks of rows that have waited long. Dense layers miss the noise of these
  // steps: no model comes of it.
  void let_pass(Step steps);

  // Goes on where another trainer was at its step `clock.size()`: one of the same plan and seed or,
  // if all its rows were settled, any. The caller has put weights and histories as they were then.
  // `no_claim`: why nothing may be claimed for those steps, if so; a ledger does not tell.
  void restore(Ledger spent, std::span<const Owed> clock, std::string no_claim);

  Step now() const { return table_clock_.now(); }

  // Whether nobody can predict the noise, nor who joins a Poisson sample.
  bool draws_in_secret() const {
    return seed_.secret() && (!sampler_.poisson() || sampler_.secret());
  }

  // Why nothing may be claimed for steps before those that this trainer took, in the state it was
  // restored from; empty if something may, for the unit that this one protects.
  const std::string& no_claim_before() const { return no_claim_before_; }

  // The plan's last, or the last that its budget pays for.
  Step last_step() const { return last_step_; }
  const Plan& plan() const { return plan_; }
  const Ledger& ledger() const { return ledger_; }
  const Seed& seed() const { return seed_; }
  bool released() const { return released_; }
  CheckpointFolder* folder() const { return folder_; }  // null: its state was never kept
  Courier* courier() { return exchange_.courier(); }    // null: there are no other ranks
  bool samples_by_poisson() const { return sampler_.poisson(); }
  bool protects_examples() const { return sampler_.unit() == kExampleUnit; }
  std::string protected_unit() const { return sampler_.unit(); }
  Microbatches microbatches() const { return method_->microbatches(); }
  TableUpdates& updates() { return updates_; }
  DenseOptimizer& dense_optimizer() { return dense_; }
  const VarianceClock& table_clock() const { return table_clock_; }
  Model& model() { return model_; }
  std::span<Table> tables() { return tables_; }
  TableFiles* files() { return files_; }  // null: the tables are in memory

 private:
  friend class CheckpointFolder;
  friend class ReleasedModel;
  void require_may_step() const;
  Step open_step();
  void read(Step t, Step settled_through, const Batch& batch);
  Tallies tallies(const Batch& batch, bool stop) const;
  void report(Step t, const Batch& batch, const Tallies& sums);

  Plan plan_;
  Performance performance_;
  Seed seed_;
  Model& model_;
  Pooling pooling_;
  std::span<Table> tables_;
  TableFiles* files_;
  const Sampler& sampler_;

  LocalExchange local_;
  Exchange& exchange_;

  NoiseSource noise_;
  VarianceClock table_clock_;
  BatchQueue queue_;
  std::unique_ptr<GradientMethod> method_;
  DenseOptimizer dense_;
  TableUpdates updates_;
  Ledger ledger_;

  Step last_step_ = 0;
  bool released_ = false;
  std::string no_claim_before_;
  CheckpointFolder* folder_ = nullptr;  // where its state is kept, if it was ever
  double clip_norm_ = 0.0;              // of the open step
  DenseStep dense_step_;
  StageClock stages_;
  Gradient gradient_;
  StepReport report_;
  RowTraffic traffic_before_;
};

}  // namespace lazydp
