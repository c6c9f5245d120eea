#pragma once
// Noise that is correlated from step to step: how far one example can move a run against it, and
// how much of it is left in the sum of the steps.
//
// Step i of a block of steps uses the noise n_i = sigma C_i sum_{j < b} d_j zeta_{i-j}, where the
// zeta are standard normal (0 before the block) and C_i is the step's clipping norm. The vector d
// holds the *bands*: d_j stands on the j-th diagonal below the main one of the inverse of a
// lower-triangular Toeplitz matrix M, whose own first column c is 1/d as a power series. The run
// publishes g_i / C_i + n_i / C_i for every step; M maps that, invertibly, to M (g/C) + sigma zeta:
// one Gaussian mechanism, whose sensitivity is how far one example moves M (g/C).

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lazydp {

inline constexpr std::size_t kMostBands = 64;                 // as many as the noise engine draws
inline constexpr std::uint64_t kMostBlockSteps = 20'000'000;  // keeps sensitivities within 0.5 GB

// Return the bands d of the inverse. All begin with 1.
std::vector<double> independent_bands();              // {1}
std::vector<double> lambda_bands(double lambda);      // {1, -lambda}, lambda in [0, 1)
std::vector<double> bisr_bands(std::uint64_t bands);  // of the inverse square root of the matrix
                                                      // of prefix sums; from 1 to kMostBands

// How often, and how soon again, one example (or unit) can take part in the steps of a block. Two
// participations are at least `separation` steps apart, and there are at most `times` of them.
struct Participation {
  std::uint64_t steps = 0;       // of the block; public, and fixed before it begins
  std::uint64_t separation = 0;  // 1 or more; in epochs of a stream: the steps of one epoch
  std::uint64_t times = 0;       // 1 or more; in epochs of a stream: their number

  // Throws UserError that names the field, the value given and what is allowed.
  void validate() const;
  // Equal if every field is.
  bool operator==(const Participation&) const = default;
};

// Returns c, the first `steps` values of the first column of M. Throws UserError, which says what
// does not hold, unless 1 = c_0 >= c_1 >= ... >= 0. That is what `sensitivities` needs to be right.
std::vector<double> first_column(std::span<const double> bands, std::uint64_t steps);

// Returns, for n = 0 ... participation.steps, how far one example moves the first n steps of a
// block at most: the norm of sum_j M[:, j * separation] over its first n rows.
//
// Why it is the most. An example contributes vectors u_j of norm <= 1 at steps i_j, and moves the
// run by sum_j M[:, i_j] u_j. Columns of M are not negative, so their inner products are not
// either, and the sum is longest if all u_j are one vector. As c does not increase, it is longest
// for steps as early and as close together as they may be: Kalinin and Lampert 2024, "Banded square
// root matrix factorization for differentially private model training", theorem 2. The first n
// steps, n fixed in advance, are a block of n steps.
std::vector<double> sensitivities(std::span<const double> bands,
                                  const Participation& participation);

// Returns the last of them: the run is a Gaussian mechanism of noise multiplier sigma /
// sensitivity.
double sensitivity(std::span<const double> bands, const Participation& participation);

// Returns how often an example can have taken part in the first `steps` steps.
std::uint64_t most_participations(const Participation& allowed, std::uint64_t steps);

// Returns the variance of n_1 + ... + n_steps, for sigma = C = 1.
double variance_of_sum(std::span<const double> bands, std::uint64_t steps);

// Returns how much noise iterates carry, for sigma = C = 1 and a constant learning rate: the root
// of the mean over t = 1 ... steps of the variance of n_1 + ... + n_t.
double accumulated_noise(std::span<const double> bands, std::uint64_t steps);

// Returns the lambda, with four digits of 1 - lambda, whose sensitivity times accumulated noise is
// least: the noise in iterates at a given epsilon.
double best_lambda(const Participation& participation);

}  // namespace lazydp
