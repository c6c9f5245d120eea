#include "lazydp/privacy/phases.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lazydp/privacy/pld/pld.h"
#include "lazydp/privacy/rdp.h"
#include "oracle.h"

namespace lazydp {
namespace {

Ledger noise_schedule(double rate, double from, double to, int phases, std::uint64_t steps_each) {
  Ledger ledger;
  for (int i = 0; i < phases; ++i) {
    ledger.record({rate, from + (to - from) * i / (phases - 1), steps_each});
  }
  return ledger;
}

TEST(Phases, FewMechanismsAreKeptAsTheyAre) {
  Ledger ledger;
  ledger.record({0.1, 1.0, 3});
  ledger.record({0.2, 2.0, 4});
  ledger.record({0.1, 1.0, 5});
  const Phases phases = merged_phases(ledger);
  ASSERT_EQ(phases.nodes.size(), 2U);
  ASSERT_EQ(phases.phases.size(), 2U);
  for (const Phase& phase : phases.phases) {
    ASSERT_EQ(phase.shares.size(), 1U);
    EXPECT_EQ(phase.shares[0].weight, 1);
    EXPECT_EQ(phase.steps, phases.nodes[phase.shares[0].node].sampling_rate == 0.1 ? 8U : 4U);
  }
}

TEST(Phases, ManyMechanismsBecomeMixturesOfFew) {
  const Phases phases = merged_phases(noise_schedule(0.01, 0.5, 5, 10000, 1));
  EXPECT_LE(phases.nodes.size(), 64U);
  std::uint64_t steps = 0;
  for (const Phase& phase : phases.phases) {
    double weight = 0;
    for (const Share& share : phase.shares) weight += share.weight;
    EXPECT_NEAR(weight, 1, 1e-12);
    steps += phase.steps;
  }
  EXPECT_EQ(steps, 10000U);
}

// The lemma of phases.h: the mixture's divergence is never below the step's, at any epsilon, order
// or direction; so it is for every step of a schedule in which both parameters vary.
TEST(Phases, EveryMixtureDominatesItsStep) {
  Ledger ledger;
  for (int i = 0; i < 100; ++i) ledger.record({0.3 + 0.007 * i, 0.2 + 0.05 * ((i * 37) % 100), 1});
  const Phases exact = exact_phases(ledger);
  const Phases merged = merged_phases(ledger);
  ASSERT_EQ(exact.phases.size(), merged.phases.size());
  int mixed = 0;
  for (std::size_t i = 0; i < exact.phases.size(); ++i) {
    mixed += merged.phases[i].shares.size() > 1 ? 1 : 0;
    const Node& node = exact.nodes[exact.phases[i].shares[0].node];
    for (const double epsilon : {-2.0, -0.5, -0.05, 0.0, 0.05, 0.4, 1.0, 4.0}) {
      const auto divergence = [&](const Node& n) {
        const double q = n.sampling_rate;
        if (std::exp(epsilon) <= 1 - q) return -std::expm1(epsilon);
        return q * gaussian_delta(1 / n.noise_multiplier, std::log1p(std::expm1(epsilon) / q));
      };
      double mixture = 0;
      for (const Share& share : merged.phases[i].shares) {
        mixture += share.weight * divergence(merged.nodes[share.node]);
      }
      EXPECT_GE(mixture, divergence(node) - 1e-12);
      EXPECT_LE(mixture, divergence(node) + 0.01);
    }
  }
  EXPECT_GT(mixed, 90);
}

TEST(Phases, ALongScheduleCostsWhatItsPartsDo) {
  // 40 phases are merged; 20 pairs of neighbours, each given the noise of the noisier or of the
  // less noisy of the two, are composed exactly, and bracket them.
  const Ledger merged = noise_schedule(0.01, 0.8, 1.2, 40, 25);
  Ledger noisier;
  Ledger quieter;
  for (std::size_t i = 0; i < 40; i += 2) {
    noisier.record({0.01, noise_multiplier(merged.events()[i + 1]), 50});
    quieter.record({0.01, noise_multiplier(merged.events()[i]), 50});
  }
  const double epsilon = pld_epsilon(merged, 1e-6);
  const double low = pld_epsilon(noisier, 1e-6);
  const double high = pld_epsilon(quieter, 1e-6);
  EXPECT_GT(epsilon, low);
  EXPECT_LT(epsilon, high);
  EXPECT_NEAR(epsilon / ((low + high) / 2), 1, 1e-3);
  EXPECT_LT(epsilon, rdp_epsilon(merged, 1e-6));
}

TEST(Phases, MergingIsAnUpperBoundAndATightOne) {
  const Ledger ledger = noise_schedule(0.02, 0.7, 2.0, 60, 5);
  const double upper = pld_epsilon(ledger, 1e-5);        // merged
  const double lower = pld_epsilon_lower(ledger, 1e-5);  // phase by phase
  EXPECT_LE(lower, upper);
  EXPECT_LE(upper, lower * 1.003);
}

}  // namespace
}  // namespace lazydp
