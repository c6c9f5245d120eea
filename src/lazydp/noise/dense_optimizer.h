#pragma once
// How dense weights take a step: their gradient and their noise at once, by any rule.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lazydp/base/types.h"
#include "lazydp/random/noise_source.h"

namespace lazydp {

// As torch.optim has them, with its default coefficients.
enum class DenseRule : std::uint8_t { sgd, momentum, adam, adagrad };

inline constexpr std::array<std::pair<std::string_view, DenseRule>, 4> kDenseRules = {
    {{"sgd", DenseRule::sgd},
     {"momentum", DenseRule::momentum},
     {"adam", DenseRule::adam},
     {"adagrad", DenseRule::adagrad}}};

std::string_view dense_rule_name(DenseRule rule);

struct DenseStep {
  double rate = 0.0;       // learning rate
  double divisor = 1.0;    // of the sum of gradients: the expected batch
  double noise_std = 0.0;  // of the noise on that sum
};

// Every dense weight is read at every step, so none of its noise can wait: it is added to the
// gradient before the rule sees it. Whatever the rule does then is computed from something private,
// and costs nothing more, linear or not.
class DenseOptimizer {
 public:
  DenseOptimizer(DenseRule rule, std::size_t weights);

  // mean = (gradient + noise of step t) / divisor; then the rule moves the weights by it.
  void update(std::span<float> weights, std::span<const float> gradient, Step t,
              const DenseStep& step, const NoiseSource& noise);

  // What the rule remembers besides the weights: zeros at first. How many steps it has taken is
  // part of it.
  std::vector<std::span<float>> state();
  Step steps() const { return steps_; }
  void restore_steps(Step steps) { steps_ = steps; }

  DenseRule rule() const { return rule_; }

 private:
  void apply(std::span<float> weights, std::span<const float> mean, std::size_t first, double rate);

  DenseRule rule_;
  Step steps_ = 0;
  std::vector<float> first_;   // momentum, Adam: a running mean
  std::vector<float> second_;  // Adam, Adagrad: of squares
};

}  // namespace lazydp
