#pragma once
// Takes a step of the dense weights: the rule sees the gradient and its noise added up.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lazydp/base/types.h"
#include "lazydp/noise/correlation.h"
#include "lazydp/random/noise_source.h"

namespace lazydp {

// The rules of torch.optim, with its default coefficients.
enum class DenseRule : std::uint8_t { sgd, momentum, adam, adagrad };

inline constexpr std::array<std::pair<std::string_view, DenseRule>, 4> kDenseRules = {
    {{"sgd", DenseRule::sgd},
     {"momentum", DenseRule::momentum},
     {"adam", DenseRule::adam},
     {"adagrad", DenseRule::adagrad}}};

std::string_view dense_rule_name(DenseRule rule);

struct DenseStep {
  double rate = 0.0;       // learning rate
  double divisor = 1.0;    // divides the sum of gradients: the expected batch
  double noise_std = 0.0;  // of the noise on that sum; if correlated, what it would be alone
};

// Every dense weight is read at every step, so none of its noise can wait: it is added to the
// gradient before the rule sees it. Whatever the rule then computes, linear or not, it computes
// from a private value, at no further cost in privacy.
class DenseOptimizer {
 public:
  DenseOptimizer(DenseRule rule, std::size_t weights, const Correlation& correlation = {});

  // Moves only the weights in `trained`, ranges that ascend; the others keep their values.
  DenseOptimizer(DenseRule rule, std::size_t weights, std::vector<IndexRange> trained,
                 const Correlation& correlation = {});

  // Computes mean = (gradient + noise of step t) / divisor; the rule then moves the weights by it.
  // The noise of a step is correlated with that of others as that of tables is.
  void update(std::span<float> weights, std::span<const float> gradient, Step t,
              const DenseStep& step, const NoiseSource& noise);

  // Returns what the rule remembers besides the weights: zeros at first. The number of steps it has
  // taken is part of that state.
  std::vector<std::span<float>> state();
  Step steps() const { return steps_; }
  void restore_steps(Step steps) { steps_ = steps; }

  // Begins a block of correlated noise with the step after this one.
  void begin_block_after(Step step) { correlation_.begin_block_after(step); }

  DenseRule rule() const { return rule_; }

 private:
  void apply(std::span<float> weights, std::span<const float> mean, std::size_t first, double rate);

  DenseRule rule_;
  std::vector<IndexRange> trained_;
  Correlation correlation_;
  std::vector<NoiseCells> cells_;  // those of the step that is taken
  Step steps_ = 0;
  std::vector<float> first_;   // momentum, Adam: a running mean
  std::vector<float> second_;  // Adam, Adagrad: a running mean, or a sum, of squares
};

}  // namespace lazydp
