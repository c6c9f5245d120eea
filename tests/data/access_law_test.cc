// The probabilities of rows agree with the look-ups of the timing data set.

#include "lazydp/data/synthetic/access_law.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "lazydp/data/synthetic/synthetic.h"

namespace lazydp {
namespace {

TEST(AccessOdds, SumToOneOverAllRows) {
  for (const double exponent : {0.0, 0.9, 1.0, 1.1}) {
    const AccessOdds odds({exponent}, 300'000);
    double sum = 0.0;
    for (std::uint64_t rank = 0; rank < 300'000; ++rank) sum += odds.probability(rank);
    EXPECT_NEAR(sum, 1.0, 1e-9) << exponent;
  }
}

// Chi-square over the 100 ranks: |z| < 5, false alarm 6e-7.
TEST(AccessOdds, AreThoseOfTheTimingDataSet) {
  constexpr RowId kRows = 100;
  for (const double exponent : {0.0, 1.05}) {
    const auto data = make_timing_dataset(
        {.examples = 20'000, .dense_features = 1, .table_rows = {kRows}, .pooling = 5}, {exponent});
    std::vector<ExampleId> all(20'000);
    std::iota(all.begin(), all.end(), 0);
    Batch batch;
    data->read(all, batch);
    std::vector<double> counts(kRows);
    for (const RowId id : batch.bags[0].ids) counts[static_cast<std::size_t>(id)] += 1.0;
    const AccessOdds odds({exponent}, kRows);
    double chi2 = 0.0;
    for (std::uint64_t rank = 0; rank < kRows; ++rank) {
      const double expected = 100'000.0 * odds.probability(rank);
      const double seen = counts[static_cast<std::size_t>(odds.row(rank))];
      chi2 += (seen - expected) * (seen - expected) / expected;
    }
    EXPECT_LT(std::abs(chi2 - 99.0) / std::sqrt(2.0 * 99.0), 5.0) << exponent;
  }
}

}  // namespace
}  // namespace lazydp
