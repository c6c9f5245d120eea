#pragma once
// Draws outputs that look as if the example was in the data, far more often than chance would, and
// knows exactly how much more often: importance sampling with bounded weights.

#include <cstddef>
#include <span>
#include <vector>

#include "lazydp/privacy/bins/bin_mixture.h"
#include "lazydp/privacy/bins/public_random.h"

namespace lazydp {

// The law R with density (mean_i exp(s y_i - s^2 G_ii / 2))^n / Z with respect to Q, for a stretch
// s
// >= 1 and a whole power n >= 1.
//
// Expanded, it is a mixture of Gaussians, one for each n bins (i_1, ..., i_n): its weight is
// exp(s^2 sum_{a < b} G(i_a, i_b)), of which Z is the mean, and its mean view s sum_a G(i_a, .). So
// it can be drawn from exactly, and its density needs only the view that is at hand anyway.
//
// W = dP/dQ is mean_i w_i with w_i = exp(y_i - G_ii / 2), and the mean of powers is at least the
// power of the mean: dR/dQ >= W^(n s) exp(-n s (s - 1) max G_ii / 2) / Z. So where W > k >= 1
//   (W - k) dQ/dR <= Z exp(n s (s - 1) max G_ii / 2) W^(-n s) (W - k),
// whose largest value over W is `log_most` below. n = s = 1 is drawing from P. With s alone this is
// the proposal of jax_privacy's importance sampling, whose bound knows nothing of how many bins
// there are; the power does, through Z.
class TiltedBins {
 public:
  static constexpr std::size_t kMostBinsOfThree = 1024;  // Z and tables take bins^3 operations

  // `power` is 1, 2, or 3 (for at most kMostBinsOfThree bins). The mixture must outlive this.
  TiltedBins(const BinMixture& mixture, double sigma, double stretch, int power);

  // Returns the log of a bound on (W - exp(epsilon))+ dQ/dR, for epsilon >= 0.
  double log_most(double epsilon) const;

  // What a draw of R looks like.
  struct Draw {
    double log_ratio;   // log W
    double log_weight;  // log dQ/dR
  };

  // Room for one thread's draws.
  struct Workspace {
    std::vector<double> normals, view, weights;
  };

  Draw draw(PublicRandom& random, Workspace& workspace) const;

 private:
  std::size_t draw_first(double uniform) const;
  std::size_t draw_by(std::span<double> weights, double uniform) const;

  const BinMixture& mixture_;
  double sigma_, stretch_;
  int power_;
  double log_z_ = 0.0;
  double most_square_ = 0.0;        // max G_ii
  std::vector<double> likeness_;    // exp(s^2 G_ij), for power > 1
  std::vector<double> pairs_;       // weights of (i, j), for power > 1
  std::vector<double> cumulative_;  // over i
};

}  // namespace lazydp
