#include "lazydp/train/audit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>

#include "lazydp/base/parallel.h"
#include "lazydp/model/dlrm.h"
#include "lazydp/privacy/gaussian_dp.h"
#include "lazydp/random/stream.h"
#include "lazydp/train/release.h"
#include "lazydp/train/trainer.h"

namespace lazydp {
namespace {

constexpr double kClipNorm = 0.05;  // below every gradient of the tiny model: all are clipped
constexpr double kRate = 0.1;       // small, so that the canary pulls the same way in every step
constexpr std::uint64_t kPublicSeed = 1;  // of the initial weights, which the attacker knows
constexpr std::size_t kBlock = 100;       // runs of one task
constexpr double kAnyDelta = 1e-5;        // of cards that nobody reads

// All weights of the tiny model in one array: dense ones, then table after table. Rows begin at 0:
// a bag of many ids then pulls at its row far more than at the dense layers, and it is in rows that
// an id named many times must be clipped for what it is.
std::vector<float> initial_weights() {
  const ModelShape shape = canary_shape();
  std::vector<float> weights(shape.parameters());
  RandomStream random(Seed::fixed(kPublicSeed), Purpose::initialisation, kDenseStream, 0);
  initialise_dense(
      shape, [&random] { return random.uniform(); }, weights);
  weights.resize(weights.size() + shape.total_rows() * shape.dim, 0.0f);
  return weights;
}

// Where in that array a row is.
std::size_t place_of(const ModelShape& shape, std::size_t table, RowId row) {
  std::size_t rows = static_cast<std::size_t>(row);
  for (std::size_t k = 0; k < table; ++k) rows += static_cast<std::size_t>(shape.table_rows[k]);
  return shape.parameters() + rows * shape.dim;
}

template <class Number>
std::vector<double> minus(const std::vector<Number>& a, const std::vector<Number>& b) {
  std::vector<double> out(a.begin(), a.end());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] -= b[i];
  return out;
}

struct Released {
  std::vector<double> change;  // of every weight since the start
  int rows_left_alone = 0;     // of the canary's
  Ledger ledger;
};

Plan training_plan(const AuditPlan& audit, double noise_multiplier) {
  Plan plan;
  plan.recipe = audit.recipe;
  plan.mechanism = {.sampling_rate = 1.0,
                    .clip_norm = kClipNorm,
                    .noise_multiplier = noise_multiplier,
                    .expected_batch = static_cast<double>(kCanaryExamples)};
  plan.steps = audit.steps;
  plan.accountant = Accountant::rdp;  // of those cards, because it is quick
  plan.table_rate = kRate;
  plan.dense_rate = kRate;
  return plan;
}

Released train(const Plan& plan, const CanaryData& data, const Seed& seed,
               const std::vector<float>& initial) {
  Dlrm model(canary_shape());
  const ModelShape& shape = model.shape();
  std::vector<float> weights = initial;
  const std::span<float> all = weights;
  std::ranges::copy(all.first(shape.parameters()), model.parameters().begin());
  std::vector<Table> tables;
  for (std::size_t k = 0; k < shape.tables(); ++k) {
    const std::size_t size = static_cast<std::size_t>(shape.table_rows[k]) * shape.dim;
    tables.push_back(Table::borrow(static_cast<TableId>(k),
                                   all.subspan(place_of(shape, k, 0), size), shape.dim));
  }
  const auto sampler = make_poisson_sampler(seed, data.size(), plan.mechanism.sampling_rate);
  Trainer trainer(plan, {}, seed, model, shape.mode, tables, data, *sampler);
  for (Step t = 0; t < plan.steps; ++t) trainer.step();
  release(std::move(trainer), {.delta = kAnyDelta, .shape = shape});
  std::ranges::copy(model.parameters(), weights.begin());

  Released released{.change = minus(weights, initial), .ledger = trainer.ledger()};
  for (std::size_t k = 0; k < shape.tables(); ++k) {
    const auto row =
        std::span(released.change).subspan(place_of(shape, k, canary_row()), shape.dim);
    released.rows_left_alone += std::ranges::all_of(row, [](double x) { return x == 0.0; }) ? 1 : 0;
  }
  return released;
}

// Where the canary pulls the weights, of length 1.
std::vector<double> pull(const AuditPlan& audit, const std::vector<float>& initial) {
  const Plan silent = training_plan(audit, 0.0);
  const Seed any = Seed::fixed(0);
  const auto change = [&](Presence presence) {
    return train(silent, CanaryData(audit.canary, presence), any, initial).change;
  };
  std::vector<double> pull = minus(change(Presence::with), change(Presence::without));
  const double norm = std::sqrt(std::inner_product(pull.begin(), pull.end(), pull.begin(), 0.0));
  for (double& x : pull) x /= norm;
  return pull;
}

Seed seed_of(const AuditPlan& audit, Presence presence, std::uint64_t run) {
  if (!audit.seed) return Seed::from_os();
  return Seed::fixed((*audit.seed << 32) + 2 * run + (presence == Presence::with ? 1 : 0));
}

constexpr std::array<std::string_view, 2> kAttacks = {
    "how far the weights lie where the canary pulls them",
    "whether the canary's rows moved at all"};

double along(const std::vector<double>& direction, const Released& released) {
  return std::inner_product(direction.begin(), direction.end(), released.change.begin(), 0.0);
}

// The scores of one attack, by what they are for.
struct Halves {
  AttackScores choosing, proving;

  explicit Halves(std::size_t half = 0)
      : choosing{std::vector<double>(half), std::vector<double>(half)}, proving(choosing) {}

  void put(std::size_t run, double without, double with) {
    const std::size_t half = choosing.with.size();
    AttackScores& scores = run < half ? choosing : proving;
    scores.without[run % half] = without;
    scores.with[run % half] = with;
  }
};

}  // namespace

void AuditPlan::validate() const {
  if (recipe.noise == NoisePolicy::none) {
    throw UserError("algorithm is " + std::string(recipe.name) +
                    "; it adds no noise, so there is nothing to audit");
  }
  if (runs < 2) throw UserError("runs is " + std::to_string(runs) + "; it must be 2 or more");
}

AuditFinding audit(const AuditPlan& plan) {
  plan.validate();
  AuditFinding finding;
  finding.noise_multiplier = noise_for_budget(plan.budget, 1.0, plan.steps, Accountant::pld);
  const Plan training = training_plan(plan, finding.noise_multiplier);
  const CanaryData without(plan.canary, Presence::without);
  const CanaryData with(plan.canary, Presence::with);
  const std::vector<float> initial = initial_weights();
  finding.stated_epsilon = epsilon(train(training, with, Seed::fixed(0), initial).ledger,
                                   plan.budget.delta, Accountant::pld);

  const std::uint64_t half = plan.runs / 2;
  std::array<Halves, kAttacks.size()> scores;
  scores.fill(Halves(half));
  const std::vector<double> direction = pull(plan, initial);
  parallel_blocks(2 * half, kBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t run = begin; run < end; ++run) {
      const auto a = train(training, without, seed_of(plan, Presence::without, run), initial);
      const auto b = train(training, with, seed_of(plan, Presence::with, run), initial);
      scores[0].put(run, along(direction, a), along(direction, b));
      scores[1].put(run, -a.rows_left_alone, -b.rows_left_alone);
    }
  });

  double best = -1.0;
  for (std::size_t i = 0; i < kAttacks.size(); ++i) {
    const AttackEvidence chosen = best_threshold(scores[i].choosing, plan.alpha);
    if (chosen.mu <= best) continue;
    best = chosen.mu;
    finding.attack = kAttacks[i];
    finding.evidence = evidence(scores[i].proving, chosen.threshold, plan.alpha);
  }
  finding.proven_epsilon = gaussian_epsilon(finding.evidence.mu, plan.budget.delta);
  return finding;
}

}  // namespace lazydp
