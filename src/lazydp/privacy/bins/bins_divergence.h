#pragma once
// How well P and Q of a block with balls-in-bins sampling are told apart, at any epsilon.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lazydp/privacy/bins/bin_mixture.h"
#include "lazydp/privacy/bins/tilted_bins.h"

namespace lazydp {

// The hockey-stick divergence of P from Q, E_Q[(W - exp(epsilon))+] with W = dP/dQ, by importance
// sampling; and a closed form that bounds the divergence of Q from P.
class BinsDivergence {
 public:
  BinsDivergence(const BinMixture& mixture, double sigma);

  // Returns an upper bound on E_Q[(1 - exp(epsilon) W)+], without sampling. By Jensen's inequality
  // W
  // >= exp(sum_i p_i (y_i - G_ii / 2 - log(p_i n))) for any probabilities p, where sum_i p_i y_i is
  // Gaussian: what is left is the price of an option. Exact for one bin; far below the other
  // divergence where there are many.
  double without_from_with(double epsilon) const;

  // Chooses the proposal with the least bound on a draw at `epsilon` >= 0, for all draws to come.
  void aim_at(double epsilon);

  // Makes so many draws; `stream` numbers independent sets of them.
  void draw(std::uint64_t draws, std::uint64_t stream);

  // Returns the draws' values of (W - exp(epsilon))+ dQ/dR: their mean is the divergence.
  std::vector<double> values(double epsilon) const;
  // Returns an upper bound on each of them.
  double most(double epsilon) const;

  // How many draws take about `seconds` on one core.
  std::uint64_t draws_in(double seconds) const;

 private:
  const BinMixture& mixture_;
  double sigma_;
  std::unique_ptr<TiltedBins> proposal_;
  std::vector<TiltedBins::Draw> draws_;
};

}  // namespace lazydp
