// Each part of the PLD accountant agrees with its own definition.

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <vector>

#include "lazydp/privacy/pld/pld_compose.h"
#include "lazydp/privacy/pld/pld_loss.h"
#include "oracle.h"

namespace lazydp {
namespace {

constexpr double kReach = 10;

// sum of P (1 - exp(epsilon - loss)) over losses above epsilon
double hockey_stick(const LossAtoms& atoms, double epsilon) {
  double total = 0;
  for (std::size_t i = 0; i < atoms.loss.size(); ++i) {
    if (atoms.loss[i] > epsilon) {
      total += std::exp(atoms.log_mass[i]) * -std::expm1(epsilon - atoms.loss[i]);
    }
  }
  return total;
}

// The exact divergence of one step: q times the Gaussian's at another epsilon; for the other
// direction by swapping the roles of the two distributions.
double exact_delta(const Node& node, Direction direction, double epsilon) {
  const double q = node.sampling_rate;
  const double m = 1 / node.noise_multiplier;
  if (direction == Direction::remove) {
    if (std::exp(epsilon) <= 1 - q) return -std::expm1(epsilon);
    return q * gaussian_delta(m, std::log1p(std::expm1(epsilon) / q));
  }
  const double inverse = (std::exp(-epsilon) - (1 - q)) / q;
  if (inverse <= 0) return 0;
  return q * std::exp(epsilon) * (gaussian_delta(m, std::log(inverse)) - 1 + inverse);
}

double total(const LossAtoms& atoms, double power) {
  double sum = 0;
  for (std::size_t i = 0; i < atoms.loss.size(); ++i) {
    sum += std::exp(atoms.log_mass[i] + power * atoms.loss[i]);
  }
  return sum;
}

constexpr Node kNodes[] = {{1e-4, 0.5}, {0.01, 1.0}, {0.3, 0.3}, {0.7, 4.0}, {1.0, 1.0}};

TEST(PldLoss, BothDistributionsHaveMassOne) {
  for (const Node& node : kNodes) {
    for (const Direction direction : {Direction::remove, Direction::add}) {
      for (const Bound bound : {Bound::up, Bound::down}) {
        const LossAtoms atoms = loss_atoms(node, direction, bound, kReach);
        EXPECT_NEAR(total(atoms, 0), 1, 1e-13);   // P
        EXPECT_NEAR(total(atoms, -1), 1, 1e-13);  // Q
      }
    }
  }
}

TEST(PldLoss, AtomsBoundTheExactCurveFromTheirSide) {
  for (const Node& node : kNodes) {
    for (const Direction direction : {Direction::remove, Direction::add}) {
      const LossAtoms up = loss_atoms(node, direction, Bound::up, kReach);
      const LossAtoms down = loss_atoms(node, direction, Bound::down, kReach);
      const double spacing = 0.003;
      for (const double epsilon : {-0.2, -0.01, 0.0, 1e-4, 0.01, 0.1, 0.37, 1.0, 3.0}) {
        const double exact = exact_delta(node, direction, epsilon);
        const double rounding = 1e-12;
        EXPECT_GE(hockey_stick(up, epsilon), exact - rounding);
        EXPECT_LE(hockey_stick(down, epsilon), exact + rounding);
        EXPECT_NEAR(hockey_stick(up, epsilon), exact, 1e-4 * exact + 2e-6);
        EXPECT_NEAR(hockey_stick(down, epsilon), exact, 1e-4 * exact + 2e-6);
        EXPECT_GE(hockey_stick(on_lattice(up, Bound::up, spacing), epsilon), exact - rounding);
        EXPECT_LE(hockey_stick(on_lattice(down, Bound::down, spacing), epsilon), exact + rounding);
      }
    }
  }
}

TEST(PldLoss, SplittingKeepsBothMassesAndReachesTheLattice) {
  const double spacing = 0.01;
  const LossAtoms atoms = loss_atoms({0.1, 0.8}, Direction::remove, Bound::up, kReach);
  const LossAtoms lattice = on_lattice(atoms, Bound::up, spacing);
  EXPECT_NEAR(total(lattice, 0), total(atoms, 0), 1e-13);
  EXPECT_NEAR(total(lattice, -1), total(atoms, -1), 1e-13);
  for (const double loss : lattice.loss) {
    EXPECT_NEAR(loss / spacing, std::round(loss / spacing), 1e-9);
  }
}

TEST(PldLoss, CumulantsAreThoseOfTheGaussian) {
  // Without subsampling the loss is N(1 / 2 s^2, 1 / s^2).
  const double sigma = 2;
  const LossAtoms atoms = loss_atoms({1, sigma}, Direction::remove, Bound::up, 12);
  for (const double tilt : {-1.0, 0.0, 0.5, 3.0}) {
    const Cumulant at = cumulant(atoms, tilt);
    EXPECT_NEAR(at.value, tilt * (tilt + 1) / (2 * sigma * sigma), 1e-4);
    EXPECT_NEAR(at.mean, (2 * tilt + 1) / (2 * sigma * sigma), 1e-4);
    EXPECT_NEAR(at.variance, 1 / (sigma * sigma), 1e-4);
  }
}

TEST(PldFourier, SpectrumIsTheDefinitionsAndInverts) {
  const std::size_t n = 60;
  std::vector<double> signal(n);
  for (std::size_t i = 0; i < n; ++i) signal[i] = std::sin(1.0 + static_cast<double>(i * i));
  const Fourier fourier(n);
  const auto spectrum = fourier.spectrum(signal);
  ASSERT_EQ(spectrum.size(), n / 2 + 1);
  for (std::size_t k = 0; k <= n / 2; ++k) {
    std::complex<double> sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double angle = -2 * std::acos(-1.0) * static_cast<double>(i * k % n) / n;
      sum += signal[i] * std::polar(1.0, angle);
    }
    EXPECT_NEAR(std::abs(spectrum[k] - sum), 0, 1e-13);
  }
  const std::vector<double> back = fourier.signal(spectrum);
  for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(back[i], signal[i], 1e-14);
}

TEST(PldCompose, CoinTossesMakeABinomial) {
  // Loss +1 or -1 with equal chance, 20 times: tilted, wrapped and untilted again.
  LossSum sum{{{{-1, 1}, {std::log(0.5), std::log(0.5)}}}, {{{{0, 1.0}}, 20}}, 0.25};
  const double tilt = 0.3;
  const Lattice lattice{0.25, 1, -32, 64};
  const ComposedLoss composed = compose(sum, tilt, lattice);
  double squares = 0;
  for (int heads = 0; heads <= 20; ++heads) {
    const double exact = std::exp(std::lgamma(21) - std::lgamma(heads + 1) -
                                  std::lgamma(21 - heads) - 20 * std::log(2));
    const auto j = static_cast<std::size_t>(32 + 2 * heads - 20);
    EXPECT_DOUBLE_EQ(lattice.loss(j), 0.25 + 2 * heads - 20);
    const double mass = composed.mass[j] * std::exp(composed.log_scale - tilt * lattice.loss(j));
    EXPECT_NEAR(mass, exact, 1e-12);
    const double off = (mass - exact) * std::exp(tilt * lattice.loss(j) - composed.log_scale);
    squares += off * off;
  }
  EXPECT_LE(std::sqrt(squares), composed.error_norm);
  EXPECT_LT(composed.error_norm, 1e-12);
}

}  // namespace
}  // namespace lazydp
