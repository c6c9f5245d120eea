// What cells weigh in what late rows are owed, against runs that are walked step by step.

#include "lazydp/noise/cell_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/noise/catch_up.h"
#include "lazydp/noise/variance_clock.h"

namespace lazydp {
namespace {

// A run of steps, as a definition would have it.
struct MadeUpRun {
  std::vector<double> bands;
  std::vector<double> deviation = {0.0}, shrink = {1.0};  // [t]
  Step before_block = 0;

  // The weight of cell k in a row that was 0 when settled through `after`, at `through`.
  double weight(Step cell, Step after, Step through) const {
    long double w = 0.0L;
    for (Step i = after + 1; i <= through; ++i) {
      w *= shrink[i];
      if (cell > before_block && cell <= i && i - cell < bands.size()) {
        w += static_cast<long double>(deviation[i]) * bands[i - cell];
      }
    }
    return static_cast<double>(w);
  }
};

std::vector<double> bisr(std::size_t bands) {
  std::vector<double> d = {1.0};
  while (d.size() < bands) {
    const auto j = static_cast<double>(d.size());
    d.push_back(d.back() * (j - 1.5) / j);
  }
  return d;
}

// A random run, and a clock that has seen it; of steps up to `before_block` the clock knows
// nothing.
struct Case {
  MadeUpRun run;
  VarianceClock clock;
  Step steps;

  Case(std::mt19937& rng, std::size_t number)
      : run{.bands = bands_of(rng, number)}, clock(Correlation(run.bands)) {
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    steps = 1 + rng() % (number % 10 == 0 ? 900 : 60);
    run.before_block = number % 3 == 0 ? rng() % steps : 0;
    if (run.before_block > 0) clock.restore_settled(run.before_block);
    const double decay = number % 2 == 0 ? 0.9 : 1.0;
    const double fall = number % 5 == 0 ? std::pow(1e-8, 1.0 / steps) : 1.0;
    double rate = 1.0;
    for (Step t = 1; t <= steps; ++t, rate *= fall) {
      const bool past = t <= run.before_block;
      run.deviation.push_back(past ? 0.0 : rate * (0.5 + uniform(rng)));
      run.shrink.push_back(past ? 1.0 : decay + (1.0 - decay) * uniform(rng));
      if (!past) clock.open(run.deviation[t], 1.0, run.shrink[t]);
    }
  }

  static std::vector<double> bands_of(std::mt19937& rng, std::size_t number) {
    constexpr std::size_t kBands[] = {2, 3, 4, 7, 16, 64};
    if (number % 4 == 0) return {1.0, -0.9};
    if (number % 4 == 1) return bisr(kBands[rng() % 6]);
    std::vector<double> d = {1.0};
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    for (std::size_t b = kBands[rng() % 6]; d.size() < b;) d.push_back(uniform(rng));
    return d;
  }

  Step random_step(std::mt19937& rng, Step from) const { return from + rng() % (steps - from + 1); }
};

constexpr std::size_t kCases = 3000;

// A tolerance of 1e-12 of the largest number that the weight is a sum of.
double scale_of(const MadeUpRun& run, Step after, Step through) {
  double most = 0.0;
  for (Step i = after + 1; i <= through; ++i) most = std::max(most, run.deviation[i]);
  return most;
}

TEST(CellWeights, AreThoseOfTheRunWalkedStepByStep) {
  std::mt19937 rng(11);
  std::size_t at_once = 0;
  for (std::size_t number = 0; number < kCases; ++number) {
    const Case c(rng, number);
    const Correlation& correlation = c.clock.correlation();
    const Step after = c.random_step(rng, c.run.before_block);
    const Step through = c.random_step(rng, after);
    if (after == through) continue;
    const OwedThrough owed = c.clock.through(through);
    const CellWeights& cells = owed.cells();
    const double tolerance = 1e-12 * scale_of(c.run, after, through);
    const auto bands = static_cast<Step>(c.run.bands.size());

    const Step first = correlation.first_cell(after + 1);
    EXPECT_GT(first, c.run.before_block);
    EXPECT_EQ(c.run.weight(first - 1, after, through), 0.0);
    std::array<double, Correlation::kMostBands> weights;
    const Step last = std::min<Step>(through, first + Correlation::kMostBands - 1);
    cells.of_cells(after, first, last, weights);
    for (Step k = first; k <= last; ++k) {
      ASSERT_NEAR(weights[k - first], c.run.weight(k, after, through), tolerance)
          << number << ": cell " << k << " of " << after << "…" << through;
    }
    for (Step k = through; k > after && through - k + 1 < bands; --k) {
      ASSERT_NEAR(cells.of_recent(k), c.run.weight(k, after, through), tolerance) << number;
    }
    ASSERT_EQ(cells.some_at_once(after), through - after >= bands);
    if (!cells.some_at_once(after)) continue;
    ++at_once;
    long double sum = 0.0L;
    for (Step k = after + 1; k + bands <= through + 1; ++k) {
      const long double a = c.run.weight(k, after, through);
      sum += a * a;
    }
    const auto variance = static_cast<double>(sum);
    ASSERT_NEAR(cells.variance_at_once(after), variance, 1e-12 * variance) << number;
    ASSERT_NEAR(cells.deviation_at_once(after), std::sqrt(variance), 1e-7 * std::sqrt(variance));
  }
  EXPECT_GT(at_once, kCases / 4);
}

// The draws of a row that is settled at random moments: what it received each time, as weights of
// cells. A normal that stands for several cells is a cell of its own.
using Received = std::map<std::pair<CellKind, Step>, double>;

std::vector<Received> settle_at(const Case& c, Missed missed, const std::vector<Step>& moments) {
  const auto how = make_catch_up(missed, c.clock.correlation());
  std::vector<Received> all;
  Step after = c.run.before_block;
  for (const Step t : moments) {
    Received& received = all.emplace_back();
    const LateRow row = {.id = 5, .after = after};
    how->for_each_draw(c.clock.through(t), {&row, 1}, [&](std::span<const Draw> draws) {
      for (const Draw& draw : draws) {
        for (auto& [cell, weight] : received) weight *= draw.term.shrink;
        EXPECT_TRUE(received.emplace(std::pair(draw.kind, draw.step), draw.term.std).second)
            << "a cell twice in one visit";
      }
    });
    after = t;
  }
  return all;
}

double covariance(const Received& a, const Received& b) {
  double sum = 0.0;
  for (const auto& [cell, weight] : a) {
    if (const auto same = b.find(cell); same != b.end()) sum += weight * same->second;
  }
  return sum;
}

// The increments of a row between reads have the covariance of eager noise, whatever was read when.
// Weights are floats, so sums of their products are equal to 1e-6 of the deviations.
TEST(CorrelatedCatchUp, IncrementsHaveTheCovarianceOfEagerNoise) {
  std::mt19937 rng(12);
  for (std::size_t number = 0; number < kCases; ++number) {
    const Case c(rng, number);
    std::vector<Step> moments;
    for (Step t = c.run.before_block; t < c.steps && moments.size() < 8;) {
      const Step gap = rng() % 3 == 0 ? 1 : 1 + rng() % (2 * c.run.bands.size());
      moments.push_back(t = std::min<Step>(c.steps, t + gap));
    }
    const auto at_once = settle_at(c, Missed::aggregated, moments);
    const auto singly = settle_at(c, Missed::each_step, moments);
    std::vector<std::vector<double>> eager;  // [read][cell]
    Step after = c.run.before_block;
    for (const Step t : moments) {
      auto& weights = eager.emplace_back(c.steps + 1, 0.0);
      for (Step k = 1; k <= t; ++k) weights[k] = c.run.weight(k, after, t);
      after = t;
    }
    for (std::size_t m = 0; m < moments.size(); ++m) {
      for (const auto& [cell, weight] : singly[m]) {
        ASSERT_EQ(cell.first, CellKind::each_step);
        ASSERT_NEAR(
            weight, eager[m][cell.second],
            1e-6 * scale_of(c.run, m == 0 ? c.run.before_block : moments[m - 1], moments[m]));
      }
      for (std::size_t n = 0; n <= m; ++n) {
        double expected = 0.0, a = 0.0, b = 0.0;
        for (Step k = 1; k <= c.steps; ++k) {
          expected += eager[m][k] * eager[n][k];
          a += eager[m][k] * eager[m][k];
          b += eager[n][k] * eager[n][k];
        }
        const double tolerance = 1e-6 * std::sqrt(a * b);
        ASSERT_NEAR(covariance(at_once[m], at_once[n]), expected, tolerance)
            << number << ": reads " << m << " and " << n;
        ASSERT_NEAR(covariance(singly[m], singly[n]), expected, tolerance);
      }
      // Never more draws than cells that are shared on either side, and one for the others.
      ASSERT_LE(at_once[m].size(), 2 * c.run.bands.size() - 1);
    }
  }
}

// A learning rate that falls by eight orders of magnitude over a million steps: what late rows are
// owed is far below the last bit of the sum of what all were.
TEST(CellWeights, LateWindowsKeepNineDigitsUnderStrongDecay) {
  constexpr Step kSteps = 1'000'000;
  const double per_step = std::pow(1e-8, 1.0 / (kSteps - 1));
  MadeUpRun run{.bands = {1.0, -0.9}};
  VarianceClock clock{Correlation(run.bands)};
  double rate = 1.0;
  for (Step t = 1; t <= kSteps; ++t, rate *= per_step) {
    clock.open(rate, 1.0, 1.0);
    run.deviation.push_back(rate);
  }
  const OwedThrough owed = clock.through(kSteps);
  for (const Step window : {2u, 3u, 64u, 1000u, 100'000u}) {
    long double sum = 0.0L;
    for (Step k = kSteps - window + 1; k < kSteps; ++k) {
      const long double weight = run.deviation[k] - 0.9L * run.deviation[k + 1];
      sum += weight * weight;
    }
    const double variance = owed.cells().variance_at_once(kSteps - window);
    EXPECT_NEAR(variance / static_cast<double>(sum), 1.0, 1e-9) << window;
  }
}

TEST(Correlation, RefusesBandsThatAreNone) {
  using Bands = std::vector<double>;
  EXPECT_THROW(Correlation(Bands{}), UserError);
  EXPECT_THROW(Correlation(Bands{0.5}), UserError);
  EXPECT_THROW(Correlation(Bands{1.0, NAN}), UserError);
  EXPECT_THROW(Correlation(Bands(65, 1.0)), UserError);
  EXPECT_TRUE(Correlation(Bands{1.0}).independent());
  EXPECT_FALSE(Correlation(Bands{1.0, -0.5}).independent());
}

}  // namespace
}  // namespace lazydp
