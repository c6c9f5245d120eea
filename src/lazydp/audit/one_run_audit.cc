#include "lazydp/audit/one_run_audit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "lazydp/audit/canary.h"
#include "lazydp/base/parallel.h"
#include "lazydp/embedding/first_weights.h"
#include "lazydp/embedding/table.h"
#include "lazydp/model/model.h"
#include "lazydp/random/stream.h"
#include "lazydp/release/release.h"
#include "lazydp/train/trainer.h"

namespace lazydp {
namespace {

constexpr double kCrowdClipNorm = 0.1;  // below the gradient of every canary
constexpr double kCrowdRate = 1.0;
constexpr double kCrowdDenseRate = 0.5;
constexpr std::uint64_t kStartSeed = 1;  // for the initial weights, which the attacker knows
constexpr std::uint64_t kFewestCanaries = 8;
// The attack on half the noise that is planned for sees five sixths of what a perfect one sees: as
// much as a perfect attack sees under this share of the noise.
constexpr double kPlannedNoise = 0.6;

// A model whose tables have rows for all canaries.
struct CrowdModel {
  ModelShape shape;
  std::unique_ptr<Model> model;
  std::vector<Table> tables;

  CrowdModel(const ModelShape& base, std::uint64_t canaries)
      : shape(with_canary_rows(base, canaries)), model(make_model(shape)) {
    for (std::size_t k = 0; k < shape.tables(); ++k) {
      tables.emplace_back(static_cast<TableId>(k), shape.table_rows[k], shape.dim);
      initialise(tables.back(), Seed::fixed(kStartSeed));
    }
    RandomStream random(Seed::fixed(kStartSeed), Purpose::initialisation, kDenseStream, 0);
    model->initialise([&random] { return random.uniform(); });
  }

  // Returns the rows of a canary, one table after the other.
  std::vector<float> rows_of(const ModelShape& base, std::uint64_t canary) {
    std::vector<float> all;
    for (std::size_t k = 0; k < tables.size(); ++k) {
      const auto row = tables[k].row(base.table_rows[k] + static_cast<RowId>(canary));
      all.insert(all.end(), row.begin(), row.end());
    }
    return all;
  }

  std::vector<std::vector<float>> rows_of_all(const ModelShape& base, std::uint64_t canaries) {
    std::vector<std::vector<float>> all(canaries);
    for (std::uint64_t i = 0; i < canaries; ++i) all[i] = rows_of(base, i);
    return all;
  }
};

Plan crowd_plan(const OneRunAudit& audit, double noise_multiplier, double examples) {
  Plan plan;
  plan.recipe = audit.recipe;
  plan.mechanism = {.sampling_rate = audit.sampling_rate,
                    .clip_norm = kCrowdClipNorm,
                    .noise_multiplier = noise_multiplier,
                    .expected_batch = audit.sampling_rate * examples};
  plan.steps = audit.steps;
  plan.table_rate = kCrowdRate;
  plan.dense_rate = kCrowdDenseRate;
  plan.rate_schedule = audit.rate_schedule;
  plan.accountant = Accountant::rdp;
  return plan;
}

void train(const Plan& plan, const Seed& seed, const Dataset& data, CrowdModel& world,
           double delta) {
  const auto sampler = make_poisson_sampler(seed, data.size(), plan.mechanism.sampling_rate);
  auto trainer = std::make_unique<Trainer>(plan, Performance{}, seed, *world.model,
                                           world.shape.mode, world.tables, data, *sampler);
  for (Step t = 0; t < plan.steps; ++t) trainer->step();
  release(std::move(trainer), {.delta = delta, .shape = world.shape});
}

// Returns the direction in which each canary pulls its rows from where the model is now: one step
// without noise, of canaries alone. The step spoils `world`.
std::vector<std::vector<float>> pulls(const OneRunAudit& audit, const ModelShape& shape,
                                      CrowdModel& world) {
  const auto before = world.rows_of_all(shape, audit.canaries);
  const CanaryCrowd all(nullptr, shape, std::vector<bool>(audit.canaries, true));
  OneRunAudit once = audit;
  once.steps = 1;
  once.sampling_rate = 1.0;
  once.rate_schedule = {};
  once.recipe = recipe("dpsgd-f");  // without noise all private algorithms are the same
  train(crowd_plan(once, 0.0, 1.0), Seed::fixed(0), all, world, audit.budget.delta);
  auto after = world.rows_of_all(shape, audit.canaries);
  for (std::size_t i = 0; i < after.size(); ++i) {
    double norm = 0.0;
    for (std::size_t j = 0; j < after[i].size(); ++j) {
      after[i][j] -= before[i][j];
      norm += static_cast<double>(after[i][j]) * after[i][j];
    }
    for (float& x : after[i]) x = norm > 0 ? x / static_cast<float>(std::sqrt(norm)) : 0.0f;
  }
  return after;
}

std::vector<bool> toss_coins(const OneRunAudit& audit) {
  const Seed seed = audit.seed ? Seed::fixed((*audit.seed << 32) + 1) : Seed::from_os();
  RandomStream random(seed, Purpose::sampling, 0, 0);
  std::vector<bool> in(audit.canaries);
  for (std::uint64_t i = 0; i < audit.canaries; ++i) in[i] = random.below(2) == 1;
  return in;
}

}  // namespace

void OneRunAudit::validate() const {
  if (recipe.noise == NoisePolicy::none) {
    throw UserError("algorithm is " + std::string(recipe.name) +
                    "; it adds no noise, so there is nothing to audit");
  }
  if (canaries < kFewestCanaries || canaries > kMostCanaries) {
    throw UserError("canaries is " + std::to_string(canaries) + "; it must be between " +
                    std::to_string(kFewestCanaries) + " and " + std::to_string(kMostCanaries));
  }
}

OneRunStakes one_run_stakes(const OneRunAudit& audit) {
  audit.validate();
  const double noise =
      noise_for_budget(audit.budget, audit.sampling_rate, audit.steps, Accountant::pld);
  Ledger ledger;
  ledger.record({audit.sampling_rate, noise, audit.steps});
  TradeOff claim = TradeOff::of(ledger);
  const TradeOff weaker = TradeOff::of_sum(with_noise_times(ledger, kPlannedNoise));
  const OneRunPlan plan = plan_one_run(audit.canaries, claim, weaker, audit.alpha);
  if (!correct_guesses_needed(audit.canaries, plan.guesses, claim, audit.alpha)) {
    throw UserError("canaries is " + std::to_string(audit.canaries) +
                    "; they could not contradict epsilon " + std::to_string(audit.budget.epsilon) +
                    " even if the attack were always right: it must be larger");
  }
  return {.noise_multiplier = noise,
          .ledger = ledger,
          .stated_epsilon = epsilon(ledger, audit.budget.delta, Accountant::pld),
          .claim = claim,
          .plan = plan,
          .canaries_needed = canaries_needed(claim, weaker, audit.alpha, kAuditPower)};
}

CanaryScores train_with_canaries(const OneRunAudit& audit, double noise_multiplier,
                                 const Dataset& base, const ModelShape& shape) {
  CanaryScores out{.scores = std::vector<double>(audit.canaries), .in = toss_coins(audit)};
  const Seed seed = audit.seed ? Seed::fixed(*audit.seed << 32) : Seed::from_os();
  CrowdModel world(shape, audit.canaries);
  const auto before = world.rows_of_all(shape, audit.canaries);
  const CanaryCrowd data(&base, shape, out.in);
  // The number of examples that is declared public must not depend on the coins.
  const double declared =
      static_cast<double>(base.size()) + static_cast<double>(audit.canaries) / 2;
  train(crowd_plan(audit, noise_multiplier, declared), seed, data, world, audit.budget.delta);
  const auto after = world.rows_of_all(shape, audit.canaries);

  CrowdModel start(shape, audit.canaries);
  const auto at_start = pulls(audit, shape, start);
  const auto at_end = pulls(audit, shape, world);
  for (std::uint64_t i = 0; i < audit.canaries; ++i) {
    double score = 0.0;
    for (std::size_t j = 0; j < after[i].size(); ++j) {
      score += static_cast<double>(after[i][j] - before[i][j]) * (at_start[i][j] + at_end[i][j]);
    }
    const bool moved = after[i] != before[i];
    out.scores[i] = moved ? score : -std::numeric_limits<double>::infinity();
  }
  return out;
}

OneRunFinding judge(const OneRunAudit& audit, const OneRunStakes& stakes,
                    const CanaryScores& scores) {
  OneRunFinding finding;
  finding.guesses = guess(scores.scores, scores.in, stakes.plan.guesses);
  finding.p_value = one_run_p_value(finding.guesses, stakes.claim);
  finding.proven_epsilon = one_run_epsilon(finding.guesses, audit.budget.delta, audit.alpha);
  finding.verdict = finding.p_value <= audit.alpha     ? Verdict::broken
                    : stakes.plan.power >= kAuditPower ? Verdict::stands
                                                       : Verdict::nothing;
  return finding;
}

}  // namespace lazydp
