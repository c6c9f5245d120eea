#include "lazydp/privacy/rdp.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "lazydp/privacy/phases.h"
#include "lazydp/privacy/renyi_moment.h"

namespace lazydp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> make_orders() {
  std::vector<double> orders;
  for (int tenths = 11; tenths < 110; ++tenths) orders.push_back(tenths / 10.0);
  for (int order = 11; order <= 64; ++order) orders.push_back(order);
  for (int power = 64; power < 4096; power *= 2) {
    for (int quarter = 5; quarter <= 8; ++quarter) orders.push_back(power / 4.0 * quarter);
  }
  return orders;
}

// log E[(P/Q)^order] of the whole ledger, one for each order.
std::vector<double> log_moments(const Ledger& ledger) {
  const Phases phases = merged_phases(ledger);
  const std::span<const double> orders = rdp_orders();
  std::vector<double> totals(orders.size(), 0.0);
  std::vector<double> of_node(phases.nodes.size());
  for (std::size_t i = 0; i < orders.size(); ++i) {
    std::transform(phases.nodes.begin(), phases.nodes.end(), of_node.begin(), [&](const Node& n) {
      return log_renyi_moment(n.sampling_rate, n.noise_multiplier, orders[i]);
    });
    for (const Phase& phase : phases.phases) {
      double largest = -kInfinity;
      for (const Share& share : phase.shares) largest = std::max(largest, of_node[share.node]);
      double sum = 0;
      for (const Share& s : phase.shares) sum += s.weight * std::expm1(of_node[s.node] - largest);
      totals[i] += static_cast<double>(phase.steps) * (largest + std::log1p(sum));
    }
  }
  return totals;
}

bool without_noise(const Ledger& ledger) {
  return std::any_of(ledger.events().begin(), ledger.events().end(),
                     [](const SampledGaussian& event) { return event.noise_multiplier == 0; });
}

}  // namespace

double rdp_of_step(double sampling_rate, double noise_multiplier, double order) {
  if (noise_multiplier == 0) return kInfinity;
  return log_renyi_moment(sampling_rate, noise_multiplier, order) / (order - 1);
}

std::span<const double> rdp_orders() {
  static const std::vector<double> orders = make_orders();
  return orders;
}

double rdp_epsilon(const Ledger& ledger, double delta) {
  if (ledger.steps() == 0) return 0;
  if (without_noise(ledger)) return kInfinity;
  const std::vector<double> moments = log_moments(ledger);
  double best = kInfinity;
  for (std::size_t i = 0; i < moments.size(); ++i) {
    const double order = rdp_orders()[i];
    const double rdp = moments[i] / (order - 1);
    // Total variation <= sqrt(1 - exp(-KL)) (Bretagnolle, Huber), and KL <= rdp.
    if (-std::expm1(-rdp) < delta * delta) return 0;
    // Canonne, Kamath, Steinke 2020, Proposition 12.
    const double epsilon = rdp + std::log1p(-1 / order) - std::log(delta * order) / (order - 1);
    best = std::min(best, epsilon);
  }
  return std::max(best, 0.0);
}

double rdp_delta(const Ledger& ledger, double epsilon) {
  if (ledger.steps() == 0) return 0;
  if (without_noise(ledger)) return 1;
  const std::vector<double> moments = log_moments(ledger);
  double best = 1;
  for (std::size_t i = 0; i < moments.size(); ++i) {
    const double order = rdp_orders()[i];
    const double rdp = moments[i] / (order - 1);
    const double log_delta =
        moments[i] + (order - 1) * (std::log1p(-1 / order) - epsilon) - std::log(order);
    best = std::min({best, std::exp(log_delta), std::sqrt(-std::expm1(-rdp))});
  }
  return best;
}

}  // namespace lazydp
