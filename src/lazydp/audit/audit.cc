#include "lazydp/audit/audit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>

#include "lazydp/base/parallel.h"
#include "lazydp/privacy/binomial.h"

namespace lazydp {
namespace {

constexpr std::size_t kBlock = 20;  // runs in one task

Seed seed_of(const AuditPlan& audit, Presence presence, std::uint64_t run) {
  if (!audit.seed) return Seed::from_os();
  return Seed::fixed((*audit.seed << 32) + 2 * run + (presence == Presence::with ? 1 : 0));
}

constexpr std::array<std::string_view, 2> kAttacks = {
    "how far the weights lie where the canary pulls them",
    "whether the canary's rows moved at all"};

// The scores of one attack, in two halves: one chooses, the other is the evidence.
struct Halves {
  AttackScores choosing, proving;

  explicit Halves(std::size_t half = 0)
      : choosing{std::vector<double>(half), std::vector<double>(half)}, proving(choosing) {}

  void put(std::size_t run, Presence presence, double score) {
    const std::size_t half = choosing.with.size();
    AttackScores& scores = run < half ? choosing : proving;
    (presence == Presence::with ? scores.with : scores.without)[run % half] = score;
  }
};

// Returns the epsilon that the two error rates prove of any mechanism, whatever its trade-off
// curve.
double plain_epsilon(const AttackEvidence& evidence, double delta, double alpha) {
  const double alarm =
      binomial_upper_bound(evidence.false_alarms, evidence.runs_without, alpha / 2);
  const double miss = binomial_upper_bound(evidence.misses, evidence.runs_with, alpha / 2);
  const auto bound = [delta](double a, double b) {
    return 1 - delta - b > a ? std::log((1 - delta - b) / a) : 0.0;
  };
  return std::max(bound(alarm, miss), bound(miss, alarm));
}

}  // namespace

void AuditPlan::validate() const {
  if (run.recipe.noise == NoisePolicy::none) {
    throw UserError("algorithm is " + std::string(run.recipe.name) +
                    "; it adds no noise, so there is nothing to audit");
  }
  if (!run.correlation.independent() && (run.sampling_rate < 1.0 || run.canary == Canary::person)) {
    throw UserError(
        "correlation is given: the audit then has examples that are in every step, and takes "
        "neither a sampling-rate below 1 nor the canary 'person'");
  }
  if (runs < 2) throw UserError("runs is " + std::to_string(runs) + "; it must be 2 or more");
}

AuditStakes audit_stakes(const AuditPlan& plan) {
  plan.validate();
  const double noise = noise_for_budget(
      plan.budget, [&](double sigma) { return ledger_of(plan.run, sigma); }, Accountant::pld);
  const Ledger ledger = ledger_of(plan.run, noise);
  TradeOff claim = TradeOff::of(ledger);
  const TradeOff halved = TradeOff::of_sum(with_noise_times(ledger, 0.5));
  const std::uint64_t half = plan.runs / 2;
  if (p_value({.runs_without = half, .runs_with = half}, claim) > plan.alpha) {
    throw UserError("runs is " + std::to_string(plan.runs) +
                    "; half of them choose a threshold, and the others could not contradict " +
                    "epsilon " + std::to_string(plan.budget.epsilon) +
                    " even if the attack were always right: it must be larger");
  }
  const auto needed = runs_needed(claim, halved, plan.alpha, kAuditPower);
  return {.noise_multiplier = noise,
          .ledger = ledger,
          .stated_epsilon = epsilon(ledger, plan.budget.delta, Accountant::pld),
          .claim = std::move(claim),
          .runs_needed = needed ? std::optional(2 * *needed) : std::nullopt};
}

AuditFinding audit(const AuditPlan& plan) {
  const AuditStakes stakes = audit_stakes(plan);
  AuditedRun run = plan.run;
  run.noise_multiplier = stakes.noise_multiplier;
  return audit(plan, run, stakes);
}

AuditFinding audit(const AuditPlan& plan, const AuditedRun& run, const AuditStakes& stakes) {
  const std::uint64_t half = plan.runs / 2;
  std::array<Halves, kAttacks.size()> scores;
  scores.fill(Halves(half));
  const Released first = train_for_audit(run, Presence::with, Seed::fixed(0));
  const std::vector<double> usual = canary_pull(run, first.initial);
  parallel_blocks(2 * half, kBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      for (const Presence presence : {Presence::without, Presence::with}) {
        const Released out = train_for_audit(run, presence, seed_of(plan, presence, i));
        const std::vector<double> pull = run.same_start() ? usual : canary_pull(run, out.initial);
        scores[0].put(i, presence,
                      std::inner_product(pull.begin(), pull.end(), out.change.begin(), 0.0));
        scores[1].put(i, presence, -out.rows_left_alone);
      }
    }
  });

  AuditFinding finding{.stated_epsilon = stakes.stated_epsilon};
  double best = -1.0;
  for (std::size_t i = 0; i < kAttacks.size(); ++i) {
    const AttackEvidence chosen = best_threshold(scores[i].choosing, plan.alpha);
    if (chosen.mu <= best) continue;
    best = chosen.mu;
    finding.attack = kAttacks[i];
    finding.evidence = evidence(scores[i].proving, chosen.threshold, plan.alpha);
  }
  finding.p_value = p_value(finding.evidence, stakes.claim);
  // At sampling rate 1 the mechanism is Gaussian, and its mu says more than two rates do.
  finding.proven_epsilon = run.sampling_rate == 1.0
                               ? gaussian_epsilon(finding.evidence.mu, plan.budget.delta)
                               : plain_epsilon(finding.evidence, plan.budget.delta, plan.alpha);
  const bool enough = stakes.runs_needed && plan.runs >= *stakes.runs_needed;
  finding.verdict = finding.p_value <= plan.alpha ? Verdict::broken
                    : enough                      ? Verdict::stands
                                                  : Verdict::nothing;
  return finding;
}

}  // namespace lazydp
