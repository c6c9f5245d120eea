#pragma once
// The log-loss of one example, from its logit.

#include <cmath>

namespace lazydp {

// Returns the probability of a logit. In double, so that 1 - sigmoid(20) is not yet zero.
inline double sigmoid(double logit) {
  // The exponential of a negative number cannot overflow.
  const double e = std::exp(-std::fabs(logit));
  return logit < 0.0 ? e / (1.0 + e) : 1.0 / (1.0 + e);
}

// Returns -log of the probability that the logit gives to `label`, which is 0 or 1.
inline float log_loss(float logit, float label) {
  const double z = logit;
  return static_cast<float>(std::log1p(std::exp(-std::fabs(z))) + std::fmax(z, 0.0) - z * label);
}

// Returns d log_loss / d logit.
inline float log_loss_gradient(float logit, float label) {
  return static_cast<float>(sigmoid(logit) - label);
}

}  // namespace lazydp
