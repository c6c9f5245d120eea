#include "lazydp/bench/ratio.h"

#include <cstddef>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/random/stream.h"
#include "lazydp/report/quantile.h"

namespace lazydp {
namespace {

constexpr std::size_t kResamples = 4000;
constexpr std::uint64_t kResampleSeed = 1;

}  // namespace

Ratio ratio(std::span<const double> of, std::span<const double> to) {
  check(of.size() == to.size() && !of.empty(), "one measurement of each in every round");
  std::vector<double> ratios(of.size());
  for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i] = of[i] / to[i];

  RandomStream random(Seed::fixed(kResampleSeed), Purpose::public_data, 0, 0);
  std::vector<double> medians(kResamples);
  std::vector<double> resample(ratios.size());
  for (double& resampled : medians) {
    for (double& value : resample) value = ratios[random.below(ratios.size())];
    resampled = median(resample);
  }
  return {
      .median = median(ratios), .low = quantile(medians, 0.025), .high = quantile(medians, 0.975)};
}

}  // namespace lazydp
