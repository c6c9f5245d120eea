#include "lazydp/privacy/rdp.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "lazydp/privacy/phases.h"

namespace lazydp {

namespace {

constexpr double kRounding = 1e-14;  // relative; covers the sums below
constexpr int kTailTerms = 24;       // error below 2 * 5.8^-24 of the tail's first term

double log_sum_exp(const std::vector<double>& logs) {
  const double largest = *std::max_element(logs.begin(), logs.end());
  double sum = 0;
  for (const double x : logs) sum += std::exp(x - largest);
  return largest + std::log(sum);
}

double log_erfc(double x) {
  if (x < 25) return std::log(std::erfc(x));
  const double y = 0.5 / (x * x);  // the asymptotic series
  const double series = -y * (1 - 3 * y * (1 - 5 * y * (1 - 7 * y * (1 - 9 * y))));
  return -x * x - std::log(x * std::sqrt(std::numbers::pi)) + std::log1p(series);
}

// Sums over i binom(a,i) q^i (1-q)^(a-i) exp((i^2-i) / 2 sigma^2). The weights sum to 1 and the
// terms 0 and 1 have exponent 0, so 1 is taken out: tiny sampling rates keep all their digits.
double at_integer(double q, double sigma, double order) {
  std::vector<double> logs;
  double log_binomial = std::log(order);
  for (double i = 2; i <= order; ++i) {
    log_binomial += std::log((order - i + 1) / i);
    const double exponent = (i * i - i) / (2 * sigma * sigma);
    const double log_excess = exponent + std::log(-std::expm1(-exponent));
    logs.push_back(log_binomial + i * std::log(q) + (order - i) * std::log1p(-q) + log_excess);
  }
  const double log_excess = log_sum_exp(logs);
  return log_excess > 0 ? log_excess + std::log1p(std::exp(-log_excess))
                        : std::log1p(std::exp(log_excess));
}

// Returns the sum over k of (-1)^k a_k for a_k the moments of a positive measure on [0, 1]: Cohen,
// Rodriguez Villegas, Zagier 2000, Algorithm 1.
double alternating_sum(const std::vector<double>& terms) {
  const auto n = static_cast<double>(terms.size());
  double d = std::pow(3 + std::sqrt(8.0), n);
  d = (d + 1 / d) / 2;
  double b = -1;
  double c = -d;
  double sum = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const auto k = static_cast<double>(i);
    c = b - c;
    sum += c * terms[i];
    b *= (k + n) * (k - n) / ((k + 0.5) * (k + 1));
  }
  return sum / d;
}

// Cuts the integral at z0, where (1-q) Q = q N(1): left of it (1-q + q r)^a is expanded in powers
// of q r, right of it in powers of (1-q). binom(a,i) is positive up to i = ceil(a) and alternates
// from there on; the terms beyond are the moments of a positive measure, as alternating_sum
// requires.
double at_fraction(double q, double sigma, double order) {
  const double z0 = sigma * sigma * std::log(1 / q - 1) + 0.5;
  const double scale = std::numbers::sqrt2 * sigma;
  const auto exponent = [&](double k) { return (k * k - k) / (2 * sigma * sigma); };
  const auto first_tail_term = static_cast<int>(std::ceil(order)) + 1;

  std::vector<double> logs;  // log |term i|, the two series added
  double log_binomial = 0;
  for (int i = 0; i < first_tail_term + kTailTerms; ++i) {
    if (i > 0) log_binomial += std::log(std::abs(order - i + 1) / i);
    const double j = order - i;
    const double left =
        i * std::log(q) + j * std::log1p(-q) + exponent(i) + log_erfc((i - z0) / scale);
    const double right =
        j * std::log(q) + i * std::log1p(-q) + exponent(j) + log_erfc((z0 - j) / scale);
    const double larger = std::max(left, right);
    logs.push_back(log_binomial - std::numbers::ln2 + larger +
                   std::log1p(std::exp(std::min(left, right) - larger)));
  }

  const double largest = *std::max_element(logs.begin(), logs.end());
  double sum = 0;
  for (int i = 0; i < first_tail_term; ++i) sum += std::exp(logs[i] - largest);
  std::vector<double> tail;
  tail.reserve(kTailTerms);
  for (int k = 0; k < kTailTerms; ++k)
    tail.push_back(std::exp(logs[first_tail_term + k] - largest));
  const double log_moment = largest + std::log(sum - alternating_sum(tail));
  return std::max(log_moment, 0.0) + kRounding;
}

}  // namespace

double log_renyi_moment(double sampling_rate, double noise_multiplier, double order) {
  const double sigma = noise_multiplier;
  if (sampling_rate == 1) return order * (order - 1) / (2 * sigma * sigma);
  const double moment = order == std::floor(order) ? at_integer(sampling_rate, sigma, order)
                                                   : at_fraction(sampling_rate, sigma, order);
  return moment * (1 + kRounding);
}

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

// Returns log E[(P/Q)^order] of the whole ledger, one for each order.
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
                     [](const PrivacyEvent& event) { return noise_multiplier(event) == 0; });
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

std::vector<double> rdp_curve(const Ledger& ledger) {
  const std::span<const double> orders = rdp_orders();
  if (without_noise(ledger)) return std::vector<double>(orders.size(), kInfinity);
  std::vector<double> curve = log_moments(ledger);
  for (std::size_t i = 0; i < curve.size(); ++i) curve[i] /= orders[i] - 1;
  return curve;
}

double rdp_epsilon(std::span<const double> curve, double delta) {
  double best = kInfinity;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const double order = rdp_orders()[i];
    const double rdp = curve[i];
    // Total variation <= sqrt(1 - exp(-KL)) (Bretagnolle, Huber), and KL <= rdp.
    if (-std::expm1(-rdp) < delta * delta) return 0;
    // Canonne, Kamath, Steinke 2020, Proposition 12.
    const double epsilon = rdp + std::log1p(-1 / order) - std::log(delta * order) / (order - 1);
    best = std::min(best, epsilon);
  }
  return std::max(best, 0.0);
}

double rdp_epsilon(const Ledger& ledger, double delta) {
  return ledger.steps() == 0 ? 0 : rdp_epsilon(rdp_curve(ledger), delta);
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
