#include "lazydp/audit/audited_run.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <span>

#include "lazydp/checkpoint/checkpoint_folder.h"
#include "lazydp/data/privacy_units.h"
#include "lazydp/data/stream.h"
#include "lazydp/embedding/first_weights.h"
#include "lazydp/embedding/storage/table_files.h"
#include "lazydp/embedding/table.h"
#include "lazydp/model/model.h"
#include "lazydp/random/stream.h"
#include "lazydp/release/release.h"
#include "lazydp/train/trainer.h"

namespace lazydp {
namespace {

constexpr double kClipNorm = 0.05;  // below every gradient of the tiny model: all are clipped
constexpr double kRate = 0.1;       // small, so that the canary pulls the same way in every step
constexpr std::uint64_t kPublicSeed = 1;  // for the initial dense weights, which the attacker knows
constexpr double kAnyDelta = 1e-5;        // for cards that are never read

// Returns where a table begins in the array of all weights.
std::size_t place_of(const ModelShape& shape, std::size_t table) {
  std::size_t rows = 0;
  for (std::size_t k = 0; k < table; ++k) rows += static_cast<std::size_t>(shape.table_rows[k]);
  return shape.parameters() + rows * shape.dim;
}

std::size_t size_of(const ModelShape& shape, std::size_t table) {
  return static_cast<std::size_t>(shape.table_rows[table]) * shape.dim;
}

// Rows begin at 0: a bag of many ids then pulls at its row far more than at the dense layers, and
// it is in rows that an id named many times must be clipped for what it is. Tables in files begin
// as they do in every run.
std::vector<float> initial_weights(const AuditedRun& run, const Seed& seed) {
  const ModelShape shape = canary_shape();
  const std::unique_ptr<Model> model = make_model(shape);
  RandomStream random(Seed::fixed(kPublicSeed), Purpose::initialisation, kDenseStream, 0);
  model->initialise([&random] { return random.uniform(); });
  std::vector<float> weights(model->parameters().begin(), model->parameters().end());
  weights.resize(weights.size() + shape.total_rows() * shape.dim, 0.0f);
  if (run.same_start()) return weights;
  for (std::size_t k = 0; k < shape.tables(); ++k) {
    Table table =
        Table::borrow(static_cast<TableId>(k),
                      std::span(weights).subspan(place_of(shape, k), size_of(shape, k)), shape.dim);
    initialise(table, seed);
  }
  return weights;
}

Plan plan_of(const AuditedRun& run) {
  Plan plan;
  plan.recipe = run.recipe;
  plan.mechanism = {.sampling_rate = run.sampling_rate,
                    .clip_norm = kClipNorm,
                    .noise_multiplier = run.noise_multiplier,
                    .expected_batch = run.sampling_rate * static_cast<double>(kCanaryUnits)};
  plan.steps = run.steps;
  plan.correlation = run.correlation;
  if (!run.correlation.independent()) plan.blocks = BlockRules{};  // in every step
  if (run.canary == Canary::person) plan.examples_per_unit = kEveryExampleOfAUnit;
  plan.accountant = Accountant::rdp;  // quick; the cards are never read
  plan.table_rate = kRate;
  plan.dense_rate = kRate;
  plan.rate_schedule = run.rate_schedule;
  return plan;
}

std::unique_ptr<Sampler> sampler_of(const AuditedRun& run, const CanaryData& data,
                                    const PrivacyUnits& units, const Seed& seed) {
  if (!run.correlation.independent()) {
    return make_stream_sampler(Windows(data.size(), kCanaryUnits));
  }
  if (run.canary == Canary::person) {
    return make_unit_sampler(seed, units, run.sampling_rate, "one person", kEveryExampleOfAUnit);
  }
  return make_poisson_sampler(seed, data.size(), run.sampling_rate);
}

// Everything that a process loses when it ends: a restart makes another Life.
struct Life {
  ModelShape shape = canary_shape();
  std::unique_ptr<Model> model = make_model(shape);
  std::vector<float> rows;  // weights of tables in memory
  std::vector<Table> in_memory;
  std::unique_ptr<TableFiles> files;
  PrivacyUnits units;
  std::unique_ptr<Sampler> sampler;
  std::unique_ptr<Trainer> trainer;

  Life(const AuditedRun& run, const CanaryData& data, const Seed& seed,
       const std::vector<float>& initial, const std::string& folder)
      : rows(initial.begin() + static_cast<std::ptrdiff_t>(shape.parameters()), initial.end()),
        in_memory(tables_over(rows, shape)),
        files(run.tables_in_files ? std::make_unique<TableFiles>(folder + "/tables", folder,
                                                                 shape.table_rows, shape.dim)
                                  : nullptr),
        units(data.unit_keys()),
        sampler(sampler_of(run, data, units, seed)),
        trainer(std::make_unique<Trainer>(
            plan_of(run), Performance{}, seed, *model, shape.mode,
            files ? files->tables() : std::span<Table>(in_memory), data, *sampler,
            files ? TableStorage::in(*files) : TableStorage::memory())) {
    std::ranges::copy(std::span(initial).first(shape.parameters()), model->parameters().begin());
  }

  static std::vector<Table> tables_over(std::vector<float>& rows, const ModelShape& shape) {
    std::vector<Table> tables;
    for (std::size_t k = 0; k < shape.tables(); ++k) {
      const auto place = place_of(shape, k) - shape.parameters();
      tables.push_back(Table::borrow(static_cast<TableId>(k),
                                     std::span(rows).subspan(place, size_of(shape, k)), shape.dim));
    }
    return tables;
  }

  // Returns every weight as it is released; `checkpoints` are the run's own, if it keeps any.
  std::vector<float> settled(std::optional<CheckpointFolder>& checkpoints) {
    release_rows(checkpoints);
    std::vector<float> all(model->parameters().begin(), model->parameters().end());
    all.insert(all.end(), rows.begin(), rows.end());
    return all;
  }

 private:
  // Tables in files are settled as they are released: here, into the memory where those in memory
  // are.
  void release_rows(std::optional<CheckpointFolder>& checkpoints) {
    for (std::size_t k = 0; files && k < shape.tables(); ++k) {
      const auto place = place_of(shape, k) - shape.parameters();
      trainer->settled_rows(k, 0, std::span(rows).subspan(place, size_of(shape, k)));
    }
    const ReleaseNotes notes{.delta = kAnyDelta, .shape = shape};
    if (checkpoints) {
      release(std::move(trainer), notes, *checkpoints);
    } else {
      release(std::move(trainer), notes);
    }
  }
};

// An empty folder below the audit's, for one run; deleted with this object.
class RunFolder {
 public:
  explicit RunFolder(const std::string& parent) {
    if (parent.empty()) return;
    static std::atomic<std::uint64_t> runs{0};
    path_ = parent + "/run-" + std::to_string(runs++);
    std::filesystem::create_directories(path_);
  }
  ~RunFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void score_all(Trainer& trainer, const CanaryData& data) {
  std::vector<ExampleId> all(data.size());
  std::iota(all.begin(), all.end(), 0);
  Batch batch;
  data.read(all, batch);
  trainer.predict(batch);
}

bool due(Step t, Step every) {
  return every > 0 && t % every == 0;
}

template <class Number>
std::vector<double> minus(const std::vector<Number>& a, const std::vector<Number>& b) {
  std::vector<double> out(a.begin(), a.end());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] -= b[i];
  return out;
}

// Trains from `initial` and returns the change of every weight.
Released train_from(const AuditedRun& run, Presence presence, const Seed& seed,
                    std::vector<float> initial) {
  const CanaryData data(run.canary, presence);
  const CanaryData all_examples(run.canary, Presence::with);
  const RunFolder folder(run.folder);
  std::optional<CheckpointFolder> checkpoints;
  if (run.restart_every > 0)
    checkpoints.emplace(folder.path() + "/checkpoint", Json(), std::nullopt);
  auto life = std::make_unique<Life>(run, data, seed, initial, folder.path());
  if (life->files) life->files->start(life->files->first_weights(seed));
  while (life->trainer->now() < run.steps) {
    life->trainer->step();
    const Step t = life->trainer->now();
    if (due(t, run.eval_every)) score_all(*life->trainer, all_examples);
    if (due(t, run.restart_every) && t < run.steps) {
      checkpoints->save(*life->trainer);
      life.reset();
      const auto saved = checkpoints->open();
      life = std::make_unique<Life>(run, data, saved->head().seed, initial, folder.path());
      checkpoints->restore(*saved, *life->trainer);
    }
  }
  const Ledger ledger = life->trainer->ledger();
  const std::vector<float> weights = life->settled(checkpoints);

  Released released{.initial = std::move(initial), .ledger = ledger};
  released.change = minus(weights, released.initial);
  const ModelShape shape = canary_shape();
  for (std::size_t k = 0; k < shape.tables(); ++k) {
    const std::size_t place =
        place_of(shape, k) + static_cast<std::size_t>(canary_row()) * shape.dim;
    const auto row = std::span(released.change).subspan(place, shape.dim);
    released.rows_left_alone += std::ranges::all_of(row, [](double x) { return x == 0.0; }) ? 1 : 0;
  }
  return released;
}

}  // namespace

Ledger ledger_of(const AuditedRun& run, double noise_multiplier) {
  Plan plan = plan_of(run);
  plan.mechanism.noise_multiplier = noise_multiplier;
  plan.validate();
  return ledger_through(plan, at_beginning(plan), plan.steps);
}

Released train_for_audit(const AuditedRun& run, Presence presence, const Seed& seed) {
  return train_from(run, presence, seed, initial_weights(run, seed));
}

std::vector<double> canary_pull(const AuditedRun& run, const std::vector<float>& initial) {
  const AuditedRun silent{.recipe = run.recipe,
                          .canary = run.canary,
                          .steps = run.steps,
                          .rate_schedule = run.rate_schedule};
  const auto change = [&](Presence presence) {
    return train_from(silent, presence, Seed::fixed(0), initial).change;
  };
  std::vector<double> pull = minus(change(Presence::with), change(Presence::without));
  const double norm = std::sqrt(std::inner_product(pull.begin(), pull.end(), pull.begin(), 0.0));
  for (double& x : pull) x /= norm;
  return pull;
}

}  // namespace lazydp
