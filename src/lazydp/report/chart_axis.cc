#include "lazydp/report/chart_axis.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lazydp/report/number_text.h"

namespace lazydp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-9;

// The smallest of 1, 2, 5 times a power of ten that cuts `range` into at most six parts.
double tick_distance(double range) {
  const double least = range / 6;
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - kRounding)) return factor * power;
  }
  return 10 * power;
}

// Powers of ten; over less than three of them also their doubles and fives, over many only some.
std::vector<double> logarithmic_ticks(double least, double most) {
  const double decades = std::log10(most / least);
  const int every = std::max(1, static_cast<int>(std::ceil(decades / 7)));
  std::vector<double> values;
  for (int power = static_cast<int>(std::floor(std::log10(least))); std::pow(10.0, power) <= most;
       ++power) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(10.0, power);
      const bool wanted = factor == 1.0 ? power % every == 0 : decades < 3.0;
      if (wanted && value >= least * (1 - kRounding) && value <= most * (1 + kRounding)) {
        values.push_back(value);
      }
    }
  }
  return values;
}

}  // namespace

ChartRange::ChartRange(const ChartAxis& axis)
    : logarithmic_(axis.scale == ChartAxis::Scale::logarithmic),
      least_(!logarithmic_ && axis.from_zero ? 0.0 : kInfinity),
      most_(!logarithmic_ && axis.from_zero ? 0.0 : -kInfinity) {}

bool ChartRange::shows(double value) const {
  return std::isfinite(value) && (!logarithmic_ || value > 0.0);
}

void ChartRange::include(double value) {
  if (!shows(value)) return;
  least_ = std::min(least_, value);
  most_ = std::max(most_, value);
}

PlacedAxis::PlacedAxis(const ChartAxis& axis, const ChartRange& range, double from, double to)
    : logarithmic_(axis.scale == ChartAxis::Scale::logarithmic),
      least_(range.least()),
      most_(range.most()),
      from_(from),
      to_(to) {
  if (least_ > most_) least_ = most_ = 1.0;  // nothing to show
  if (logarithmic_) {
    constexpr double kRoom = 1.1;
    least_ /= kRoom;
    most_ *= kRoom;
    return;
  }
  if (least_ == most_) most_ = least_ + (least_ == 0.0 ? 1.0 : std::abs(least_) * 0.1);
}

double PlacedAxis::place(double value) const {
  const double share = logarithmic_ ? std::log(value / least_) / std::log(most_ / least_)
                                    : (value - least_) / (most_ - least_);
  return from_ + (to_ - from_) * std::clamp(share, 0.0, 1.0);
}

std::vector<double> PlacedAxis::ticks() const {
  if (logarithmic_) return logarithmic_ticks(least_, most_);
  const double distance = tick_distance(most_ - least_);
  std::vector<double> values;
  for (double i = std::ceil(least_ / distance - kRounding);
       i * distance <= most_ + kRounding * distance; ++i) {
    values.push_back(i * distance + 0.0);  // no -0
  }
  return values;
}

std::string tick_text(double value) {
  const bool whole = value == std::floor(value);
  constexpr double kMillion = 1e6, kMost = 1e9;
  if (std::abs(value) >= kMillion && std::abs(value) < kMost) {
    return shortest(value / kMillion) + " M";
  }
  return whole && std::abs(value) < kMillion ? with_commas(value) : shortest(value);
}

}  // namespace lazydp
