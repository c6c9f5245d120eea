#pragma once
// Tests of moments, histogram, distribution and tails for numbers that should be standard normal.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sstream>
#include <string>
#include <vector>

namespace lazydp::oracle {

// Counts as it goes, so a billion numbers need no memory. Every statistic is turned into a z score;
// under the hypothesis |z| > 5.5 has probability 4e-8, so with fewer than 30 statistics a false
// alarm has probability about 1e-6.
class Normality {
 public:
  void add(std::span<const float> values) {
    for (const float v : values) {
      const double x = v;
      const double x2 = x * x;
      sum_[0] += x;
      sum_[1] += x2;
      sum_[2] += x2 * x;
      sum_[3] += x2 * x2;
      const double place = (x + kEdge) * (1.0 / kWidth);
      const auto bin = static_cast<std::size_t>(std::clamp(place, 0.0, double(kBins)));
      ++bins_[place < 0.0 ? 0 : std::min(bin + 1, kBins + 1)];
    }
    n_ += static_cast<double>(values.size());
  }

  void add(const Normality& other) {
    for (std::size_t i = 0; i < 4; ++i) sum_[i] += other.sum_[i];
    for (std::size_t i = 0; i < bins_.size(); ++i) bins_[i] += other.bins_[i];
    n_ += other.n_;
  }

  // Returns the evidence against the hypothesis; empty if there is none.
  std::string objections() const {
    std::ostringstream out;
    const auto object = [&](const std::string& what, double z) {
      if (!(std::abs(z) <= 5.5)) out << what << ": z = " << z << "; ";
    };
    const double root = std::sqrt(n_);
    object("mean", sum_[0] / n_ * root);
    object("variance", (sum_[1] / n_ - 1.0) * root / std::sqrt(2.0));
    object("skewness", sum_[2] / n_ * root / std::sqrt(15.0));
    object("kurtosis", (sum_[3] / n_ - 3.0) * root / std::sqrt(96.0));
    double chi2 = 0.0;
    double freedom = -1.0;
    double cumulated = 0.0;
    double distance = 0.0;
    double expected_here = 0.0;
    double seen_here = 0.0;
    for (std::size_t b = 0; b < bins_.size(); ++b) {
      const double low = b == 0 ? -HUGE_VAL : -kEdge + kWidth * static_cast<double>(b - 1);
      const double high = b == kBins + 1 ? INFINITY : -kEdge + kWidth * static_cast<double>(b);
      expected_here += n_ * (below(high) - below(low));
      seen_here += static_cast<double>(bins_[b]);
      cumulated += static_cast<double>(bins_[b]);
      distance = std::max(distance, std::abs(cumulated / n_ - below(high)));
      if (expected_here >= 50.0) {
        chi2 += (seen_here - expected_here) * (seen_here - expected_here) / expected_here;
        freedom += 1.0;
        expected_here = seen_here = 0.0;
      }
    }
    object("chi-square", (chi2 - freedom) / std::sqrt(2.0 * freedom));
    // Kolmogorov: P(D sqrt(n) > 4) = 2 exp(-32) = 3e-14; 4 -> 5.5 on our scale.
    object("Kolmogorov-Smirnov", distance * root * 5.5 / 2.9);
    for (double k = 3.0; k <= 5.5; k += 0.5) {
      const double expected = n_ * 2.0 * below(-k);
      if (expected < 20.0) continue;  // too few to be called normal
      double seen = 0.0;
      for (std::size_t b = 0; b < bins_.size(); ++b) {
        const double low = b == 0 ? -HUGE_VAL : -kEdge + kWidth * static_cast<double>(b - 1);
        const double high = b == kBins + 1 ? INFINITY : -kEdge + kWidth * static_cast<double>(b);
        if (high <= -k + 1e-9 || low >= k - 1e-9) seen += static_cast<double>(bins_[b]);
      }
      object("tail beyond " + std::to_string(k), (seen - expected) / std::sqrt(expected));
    }
    return out.str();
  }

 private:
  static double below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

  static constexpr double kEdge = 6.0;
  static constexpr double kWidth = 1.0 / 128.0;
  static constexpr std::size_t kBins = 1536;
  double n_ = 0.0;
  std::array<double, 4> sum_{};
  std::array<std::uint64_t, kBins + 2> bins_{};
};

}  // namespace lazydp::oracle
