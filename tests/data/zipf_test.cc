#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <variant>
#include <vector>

#include "lazydp/data/synthetic/access_law.h"
#include "lazydp/data/synthetic/synthetic.h"
#include "lazydp/random/stream.h"
#include "statistics.h"

namespace lazydp {
namespace {

// 1 + 2^-s + ... + n^-s: the first terms as they are, the rest by Euler and Maclaurin.
double harmonic(double n, double s) {
  constexpr double kDirect = 1000.0;
  double sum = 0.0;
  for (double k = 1.0; k <= std::min(n, kDirect); k += 1.0) sum += std::pow(k, -s);
  if (n <= kDirect) return sum;
  const auto f = [s](double x) { return std::pow(x, -s); };
  const double area = s == 1.0 ? std::log(n / kDirect)
                               : (std::pow(n, 1.0 - s) - std::pow(kDirect, 1.0 - s)) / (1.0 - s);
  const double slope = s * (f(kDirect) / kDirect - f(n) / n);
  return sum + area + (f(n) - f(kDirect)) / 2.0 + slope / 12.0;
}

RandomStream random_for_test(Step test) {
  return {Seed::fixed(11), Purpose::public_data, 99, test};
}

// The histogram of `draws` ranks against the law of exponent `claimed`.
double histogram_excess(const Zipf& zipf, std::size_t ranks, double claimed, Step test) {
  constexpr std::size_t kDraws = 300'000;
  std::vector<double> observed(ranks, 0.0);
  std::vector<double> expected(ranks, 0.0);
  RandomStream random = random_for_test(test);
  for (std::size_t i = 0; i < kDraws; ++i) observed.at(zipf.draw(random)) += 1.0;
  const double total = harmonic(static_cast<double>(ranks), claimed);
  for (std::size_t k = 0; k < ranks; ++k) {
    expected[k] = kDraws * std::pow(static_cast<double>(k + 1), -claimed) / total;
  }
  return chi_square_excess(observed, expected);
}

// Tests a law with too many ranks to count one by one: in cells that grow by half.
double coarse_excess(const Zipf& zipf, double ranks, double claimed, Step test) {
  constexpr std::size_t kDraws = 300'000;
  std::vector<double> ends;  // cell j holds the ranks from ends[j - 1] up to ends[j]
  for (double end = 1.0; end < ranks; end = std::ceil(end * 1.5)) ends.push_back(end);
  ends.push_back(ranks);
  std::vector<double> observed(ends.size(), 0.0);
  std::vector<double> expected(ends.size(), 0.0);
  RandomStream random = random_for_test(test);
  for (std::size_t i = 0; i < kDraws; ++i) {
    const auto rank = static_cast<double>(zipf.draw(random));
    observed.at(static_cast<std::size_t>(std::ranges::upper_bound(ends, rank) - ends.begin())) +=
        1.0;
  }
  const double total = harmonic(ranks, claimed);
  for (std::size_t j = 0; j < ends.size(); ++j) {
    const double before = j == 0 ? 0.0 : harmonic(ends[j - 1], claimed);
    expected[j] = kDraws * (harmonic(ends[j], claimed) - before) / total;
  }
  return chi_square_excess(observed, expected);
}

TEST(ZipfOracle, EulerAndMaclaurinAgreeWithTheSum) {
  for (const double s : {0.5, 0.924, 1.0, 1.13, 2.0}) {
    double sum = 0.0;
    for (int k = 1; k <= 50'000; ++k) sum += std::pow(k, -s);
    EXPECT_NEAR(harmonic(50'000, s) / sum, 1.0, 1e-12) << s;
  }
}

TEST(Zipf, HistogramFollowsTheLaw) {
  Step test = 0;
  for (const double s : {1e-9, 0.1, 0.5, 0.924, 0.999999, 1.0, 1.03, 1.13, 2.0, 6.0}) {
    for (const std::size_t ranks : {2, 3, 100, 5000}) {
      EXPECT_LT(histogram_excess(Zipf(ranks, s), ranks, s, ++test), 1.0) << s << " " << ranks;
    }
  }
}

TEST(Zipf, AThousandMillionRanksFollowTheLaw) {
  Step test = 100;
  for (const double s : {0.5, 0.924, 1.0, 1.000001, 1.03, 1.13, 2.0}) {
    EXPECT_LT(coarse_excess(Zipf(1'000'000'000, s), 1e9, s, ++test), 1.0) << s;
  }
}

TEST(Zipf, TheTestsCatchAnExponentThatIsOffByThreePercent) {
  for (const double s : {0.924, 1.0, 1.13}) {
    for (const double factor : {0.97, 1.03}) {
      EXPECT_GT(histogram_excess(Zipf(5000, s * factor), 5000, s, 1), 1.0) << s * factor;
      EXPECT_GT(coarse_excess(Zipf(1'000'000'000, s * factor), 1e9, s, 1), 1.0) << s * factor;
    }
  }
}

TEST(Zipf, SkewNamesPutNinetyPercentOfAccessesOnTheirShareOfRows) {
  constexpr double kRows = 39'884'406;
  for (const auto& [name, share] :
       {std::pair("skew:36", 0.36), std::pair("skew:10", 0.10), std::pair("skew:0.6", 0.006)}) {
    const double s = std::get<AccessLaw>(parse_synthetic(name)).zipf_exponent;
    EXPECT_NEAR(harmonic(std::round(kRows * share), s) / harmonic(kRows, s), 0.90, 0.002) << name;
  }
}

TEST(Zipf, ExtremeUniformsStayWithinTheRanks) {
  for (const double s : {1e-9, 0.5, 1.0, 1.03, 3.0, kMaxZipfExponent}) {
    for (const std::uint64_t ranks : {1ull, 2ull, 1000ull, 1ull << 40}) {
      const Zipf zipf(ranks, s);
      for (const double u : {std::numeric_limits<double>::min(), 0x1p-54, 0.5, 1.0 - 0x1p-53}) {
        EXPECT_LT(zipf.propose(u).value_or(0), ranks) << s << " " << ranks << " " << u;
      }
    }
  }
}

TEST(Zipf, OneRankIsAlwaysDrawn) {
  RandomStream random = random_for_test(200);
  const Zipf zipf(1, 1.03);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(zipf.draw(random), 0u);
}

TEST(Zipf, RarelyNeedsASecondUniform) {
  for (const double s : {0.5, 0.924, 1.0, 1.13, 2.0}) {
    const Zipf zipf(39'884'406, s);
    RandomStream random = random_for_test(201);
    int rejected = 0;
    for (int i = 0; i < 100'000; ++i) rejected += zipf.propose(random.uniform()) ? 0 : 1;
    EXPECT_LT(rejected, 3000) << s;
  }
}

}  // namespace
}  // namespace lazydp
