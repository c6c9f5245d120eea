#include "lazydp/privacy/bins/bin_mixture.h"

#include <algorithm>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"

namespace lazydp {

BinMixture::BinMixture(const CorrelatedGaussian& block, std::size_t thinned, std::size_t bins)
    : bands_(block.bands),
      steps_(block.allowed.steps),
      separation_(block.allowed.separation),
      times_(most_participations(block.allowed, block.allowed.steps)),
      thinned_(thinned),
      bins_(bins) {
  check(bins > 0 && (bins - 1) * thinned < separation_, "bins within a pass");
  // m_i is m_0, i steps later, cut off at the block's end.
  const std::vector<double> column = first_column(bands_, steps_);
  std::vector<double> first(steps_, 0.0);
  for (std::size_t j = 0; j < times_; ++j) {
    for (std::size_t t = j * separation_; t < steps_; ++t) first[t] += column[t - j * separation_];
  }
  // <m_i, m_{i+d}> is the sum over s of first[s + d] first[s], as far as bin i + d has steps left.
  gram_.assign(bins_ * bins_, 0.0);
  parallel_for(bins_, [&](std::size_t d) {
    const std::size_t lag = d * thinned_;
    double sum = 0.0;
    std::size_t s = 0;
    for (std::size_t i = bins_ - d; i-- > 0;) {  // later bins have fewer steps
      const std::size_t later = (i + d) * thinned_;
      for (; s + later < steps_; ++s) sum += first[s] * first[s + lag];
      gram_[i * bins_ + i + d] = gram_[(i + d) * bins_ + i] = sum;
    }
  });
  for (std::size_t i = 0; i < bins_; ++i) squares_.push_back(row(i)[i]);
}

// y = M_bins^T z, where the columns of M_bins are sums of columns of M; M^T z solves a triangular
// system of the bands, from the last step to the first.
void BinMixture::view(std::span<double> normals, std::span<double> y) const {
  check(normals.size() == steps_ && y.size() == bins_,
        "a normal for each step, a view for each bin");
  const std::size_t reach = bands_.size() - 1;
  for (std::size_t t = steps_; t-- > 0;) {
    const std::size_t most = std::min(reach, steps_ - 1 - t);
    double sum = normals[t];
    for (std::size_t j = 1; j <= most; ++j) sum -= bands_[j] * normals[t + j];
    normals[t] = sum;
  }
  for (std::size_t i = 0; i < bins_; ++i) {
    double sum = 0.0;
    for (std::size_t j = 0, t = i * thinned_; j < times_ && t < steps_; ++j, t += separation_) {
      sum += normals[t];
    }
    y[i] = sum;
  }
}

std::vector<BinMixture> worst_mixtures(const CorrelatedGaussian& block) {
  const std::size_t bins = block.allowed.separation;
  const std::size_t thinned = (bins - 1) / BinMixture::kMostBins + 1;
  std::vector<BinMixture> worst;
  worst.emplace_back(block, thinned, bins / thinned);
  if (bins % thinned != 0) worst.emplace_back(block, thinned, bins / thinned + 1);
  return worst;
}

}  // namespace lazydp
