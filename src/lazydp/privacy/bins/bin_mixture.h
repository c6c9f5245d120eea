#pragma once
// The two distributions that a block with balls-in-bins sampling has to keep apart.

#include <cstddef>
#include <span>
#include <vector>

#include "lazydp/privacy/ledger.h"

namespace lazydp {

// With the example the block publishes, up to an invertible map, a draw of P: the mean over bins i
// of N(m_i, sigma^2 I), where m_i is the sum of the columns of M at the steps of bin i. Without it,
// a draw of Q = N(0, sigma^2 I). No pair of neighbours is easier to tell apart (Choquette-Choo et
// al. 2025, "Near exact privacy amplification for matrix mechanisms"): M has no negative entries.
//
// All that is needed is how an output x looks from the bins: y_i = <x, m_i> / sigma^2. Then dP/dQ =
// mean_i exp(y_i - G_ii / 2), and y is Gaussian with covariance G = <m_i, m_j> / sigma^2: its mean
// is 0 under Q, and row i of G under the part of P that has the example in bin i.
class BinMixture {
 public:
  static constexpr std::size_t kMostBins = 2048;

  // Takes the first `bins` of every `thinned`th bin of the block.
  BinMixture(const CorrelatedGaussian& block, std::size_t thinned, std::size_t bins);

  std::size_t bins() const { return bins_; }
  // Returns row i of G for sigma = 1.
  std::span<const double> row(std::size_t i) const {
    return std::span(gram_).subspan(i * bins_, bins_);
  }

  // Returns G_ii of every bin, for sigma = 1; none is above the first.
  std::span<const double> squares() const { return squares_; }

  // How many normals view() takes.
  std::size_t normals() const { return steps_; }

  // Computes y under Q for sigma = 1 from independent standard normals, which it overwrites.
  void view(std::span<double> normals, std::span<double> y) const;

 private:
  std::vector<double> bands_;
  std::size_t steps_;
  std::size_t separation_;
  std::size_t times_;
  std::size_t thinned_;
  std::size_t bins_;
  std::vector<double> gram_;
  std::vector<double> squares_;
};

// Returns mixtures of at most kMostBins bins, of which one is as easy to tell apart from Q as the
// block's P at least: P itself, if it has no more.
//
// If it has more, P is the mean of thinned mixtures: of every q-th bin, from bin r < q on. So no
// convex divergence of P is above the largest of theirs. Of those with as many bins, that is the
// one from bin 0 on: its steps come earliest, so no entry of another one's G is larger, and
// divergences rise with every entry (Kahane 1985, "Sur le chaos multiplicatif": the mean of a
// convex function of mean_i exp(y_i - G_ii / 2) does). Their numbers of bins differ by one at most.
std::vector<BinMixture> worst_mixtures(const CorrelatedGaussian& block);

}  // namespace lazydp
