#include "lazydp/train/audit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <numeric>
#include <string>

#include "lazydp/base/parallel.h"
#include "lazydp/embedding/initialise.h"
#include "lazydp/model/dlrm.h"
#include "lazydp/privacy/gaussian_dp.h"
#include "lazydp/random/stream.h"
#include "lazydp/train/trainer.h"

namespace lazydp {
namespace {

constexpr double kClipNorm = 0.05;  // below every gradient of the tiny model: all are clipped
constexpr double kRate = 0.1;       // small, so that the canary pulls the same way in every step
constexpr TableId kDenseStream = 65535;
constexpr std::uint64_t kPublicSeed = 1;  // of the initial weights, which the attacker knows
constexpr std::size_t kBlock = 100;       // runs of one task

// All weights of the tiny model in one array: dense ones, then table after table.
struct Weights {
  Dlrm model{canary_shape()};
  std::vector<Table> tables;

  Weights() {
    const ModelShape& shape = model.shape();
    const Seed seed = Seed::fixed(kPublicSeed);
    for (std::size_t k = 0; k < shape.tables(); ++k) {
      tables.emplace_back(static_cast<TableId>(k), shape.table_rows[k], shape.dim);
      initialise(tables.back(), seed);
    }
    RandomStream random(seed, Purpose::initialisation, kDenseStream, 0);
    initialise_dense(
        shape, [&random] { return random.uniform(); }, model.parameters());
  }

  std::vector<double> all() {
    std::vector<double> out(model.parameters().begin(), model.parameters().end());
    for (const Table& table : tables) {
      for (RowId r = 0; r < table.rows(); ++r) {
        const std::span<const float> row = table.row(r);
        out.insert(out.end(), row.begin(), row.end());
      }
    }
    return out;
  }
};

std::vector<double> minus(std::vector<double> a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

struct Released {
  std::vector<double> change;  // of every weight since the start
  int rows_left_alone = 0;     // of the canary's
  double epsilon = 0.0;        // by the run's own ledger, if asked
};

class Experiment {
 public:
  Experiment(const AuditPlan& plan, double noise_multiplier)
      : plan_(plan), noise_multiplier_(noise_multiplier), direction_(direction()) {}

  // The two scores of one run.
  std::array<double, 2> scores(Presence presence, std::uint64_t run) const {
    const Released released = train(presence, noise_multiplier_, seed_of(presence, run));
    return {std::inner_product(direction_.begin(), direction_.end(), released.change.begin(), 0.0),
            -static_cast<double>(released.rows_left_alone)};
  }

  double stated_epsilon() const {
    Weights weights;
    const CanaryData data(plan_.canary, Presence::with);
    return with_trainer(data, weights, noise_multiplier_, Seed::fixed(0), [&](Trainer& trainer) {
      return epsilon(trainer.ledger(), plan_.budget.delta, Accountant::pld);
    });
  }

 private:
  template <class Use>
  auto with_trainer(const CanaryData& data, Weights& weights, double noise, const Seed& seed,
                    const Use& use) const {
    Plan plan;
    plan.recipe = plan_.recipe;
    plan.mechanism = {.sampling_rate = 1.0,
                      .clip_norm = kClipNorm,
                      .noise_multiplier = noise,
                      .expected_batch = static_cast<double>(kCanaryExamples)};
    plan.steps = plan_.steps;
    plan.table_rate = kRate;
    plan.dense_rate = kRate;
    const auto sampler = make_poisson_sampler(seed, data.size(), plan.mechanism.sampling_rate);
    Trainer trainer(plan, {}, seed, weights.model, weights.model.shape().mode, weights.tables, data,
                    *sampler);
    for (Step t = 0; t < plan_.steps; ++t) trainer.step();
    trainer.settle_all();
    return use(trainer);
  }

  Released train(Presence presence, double noise, const Seed& seed) const {
    Weights weights;
    const std::vector<double> before = weights.all();
    const std::vector<Table>& tables = weights.tables;
    const auto canary_rows = [&] {
      std::vector<std::vector<float>> rows;
      for (const Table& table : tables) {
        const std::span<const float> row = table.row(canary_row());
        rows.emplace_back(row.begin(), row.end());
      }
      return rows;
    };
    const auto rows_before = canary_rows();
    const CanaryData data(plan_.canary, presence);
    with_trainer(data, weights, noise, seed, [](Trainer&) { return 0; });
    Released released{.change = minus(weights.all(), before)};
    const auto rows_after = canary_rows();
    for (std::size_t k = 0; k < tables.size(); ++k) {
      released.rows_left_alone += rows_before[k] == rows_after[k] ? 1 : 0;
    }
    return released;
  }

  // Where the canary pulls the weights, of length 1.
  std::vector<double> direction() const {
    const Seed any = Seed::fixed(0);
    std::vector<double> pull =
        minus(train(Presence::with, 0.0, any).change, train(Presence::without, 0.0, any).change);
    const double norm = std::sqrt(std::inner_product(pull.begin(), pull.end(), pull.begin(), 0.0));
    for (double& x : pull) x /= norm;
    return pull;
  }

  Seed seed_of(Presence presence, std::uint64_t run) const {
    if (!plan_.seed) return Seed::from_os();
    return Seed::fixed((*plan_.seed << 32) + 2 * run + (presence == Presence::with ? 1 : 0));
  }

  const AuditPlan& plan_;
  double noise_multiplier_;
  std::vector<double> direction_;
};

constexpr std::array<std::string_view, 2> kAttacks = {
    "how far the weights lie where the canary pulls them",
    "whether the canary's rows moved at all"};

}  // namespace

AuditFinding audit(const AuditPlan& plan, const std::function<void(std::uint64_t)>& progress) {
  if (plan.recipe.noise == NoisePolicy::none) {
    throw UserError("algorithm is " + std::string(plan.recipe.name) +
                    "; it adds no noise, so there is nothing to audit");
  }
  AuditFinding finding;
  finding.noise_multiplier = noise_for_budget(plan.budget, 1.0, plan.steps, Accountant::pld);
  const Experiment experiment(plan, finding.noise_multiplier);
  finding.stated_epsilon = experiment.stated_epsilon();

  // By attack, and by half: [0] chooses, [1] is the evidence.
  std::array<std::array<AttackScores, 2>, kAttacks.size()> scores;
  const std::uint64_t half = plan.runs / 2;
  for (auto& of_attack : scores) {
    for (AttackScores& s : of_attack) {
      s.without.resize(half);
      s.with.resize(half);
    }
  }
  std::mutex guard;
  std::uint64_t done = 0;
  parallel_blocks(2 * half, kBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t run = begin; run < end; ++run) {
      const auto without = experiment.scores(Presence::without, run);
      const auto with = experiment.scores(Presence::with, run);
      for (std::size_t a = 0; a < scores.size(); ++a) {
        scores[a][run / half].without[run % half] = without[a];
        scores[a][run / half].with[run % half] = with[a];
      }
    }
    const std::lock_guard lock(guard);
    done += end - begin;
    if (progress) progress(2 * done);
  });

  std::size_t best = 0;
  std::array<AttackEvidence, kAttacks.size()> chosen;
  for (std::size_t a = 0; a < scores.size(); ++a) {
    chosen[a] = best_threshold(scores[a][0], plan.alpha);
    if (chosen[a].mu > chosen[best].mu) best = a;
  }
  finding.attack = kAttacks[best];
  finding.evidence = evidence(scores[best][1], chosen[best].threshold, plan.alpha);
  finding.proven_epsilon = gaussian_epsilon(finding.evidence.mu, plan.budget.delta);
  return finding;
}

}  // namespace lazydp
