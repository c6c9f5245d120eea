#include "lazydp/noise/variance_clock.h"

namespace lazydp {

void VarianceClock::reserve(Step steps) {
  steps_.reserve(steps);
  if (!correlation_.independent()) last_uses_.reserve(steps);
}

Step VarianceClock::push(const Owed& step) {
  const Step t = steps_.push(step);
  if (!correlation_.independent()) last_uses_.push(last_use(correlation_, steps_));
  return t;
}

Step VarianceClock::open(double step_size, double noise_std, double shrink) {
  const double std = step_size * noise_std;
  step_size_ = step_size;
  return push({shrink, std * std});
}

Step VarianceClock::open(const TableStep& step) {
  return open(step.learning_rate / step.divisor, step.noise_std,
              1.0 - step.learning_rate * step.weight_decay);
}

std::vector<double> VarianceClock::numbers() const {
  std::vector<double> numbers;
  numbers.reserve(steps_.all().size() * numbers_a_step());
  for (const Owed& owed : steps_.all()) numbers.insert(numbers.end(), {owed.shrink, owed.variance});
  return numbers;
}

void VarianceClock::restore(std::span<const double> numbers, Step before_block) {
  steps_ = {};
  last_uses_ = {};
  correlation_.begin_block_after(before_block);
  reserve(static_cast<Step>(numbers.size() / numbers_a_step()));
  for (; !numbers.empty(); numbers = numbers.subspan(numbers_a_step())) {
    push({numbers[0], numbers[1]});
  }
}

void VarianceClock::restore_settled(Step steps) {
  steps_ = {};
  last_uses_ = {};
  correlation_.begin_block_after(steps);
  reserve(steps);
  for (Step i = 0; i < steps; ++i) push({});
}

Drift then(const Drift& first, const Drift& second) {
  const Drift& a = first;
  const Drift& b = second;
  // B Q: the rows of B times the symmetric Q of the first.
  const double m_m = b.mm * a.var_m + b.mw * a.cov;
  const double m_w = b.mm * a.cov + b.mw * a.var_w;
  const double w_m = b.wm * a.var_m + b.ww * a.cov;
  const double w_w = b.wm * a.cov + b.ww * a.var_w;
  return {.mm = b.mm * a.mm + b.mw * a.wm,
          .mw = b.mm * a.mw + b.mw * a.ww,
          .wm = b.wm * a.mm + b.ww * a.wm,
          .ww = b.wm * a.mw + b.ww * a.ww,
          .var_m = m_m * b.mm + m_w * b.mw + b.var_m,
          .cov = m_m * b.wm + m_w * b.ww + b.cov,
          .var_w = w_m * b.wm + w_w * b.ww + b.var_w};
}

Step MomentumClock::open(const TableStep& step) {
  const double rate = step.learning_rate;
  const double keep = step.first ? 0.0 : step.momentum;
  const double take = step.first ? 1.0 : 1.0 - step.dampening;
  // The weight moves along u = from_m * (new m) + from_d * d.
  const double from_m = step.nesterov ? step.momentum : 1.0;
  const double from_d = step.nesterov ? 1.0 : 0.0;

  const double d_of_w = step.weight_decay;
  const double u_of_m = from_m * keep;
  const double u_of_d = from_m * take + from_d;
  response_ = {take / step.divisor, -rate * u_of_d / step.divisor};
  const double noise_m = response_.m * step.noise_std;
  const double noise_w = response_.w * step.noise_std;
  return steps_.push({.mm = keep,
                      .mw = take * d_of_w,
                      .wm = -rate * u_of_m,
                      .ww = 1.0 - rate * u_of_d * d_of_w,
                      .var_m = noise_m * noise_m,
                      .cov = noise_m * noise_w,
                      .var_w = noise_w * noise_w});
}

std::vector<double> MomentumClock::numbers() const {
  std::vector<double> numbers;
  numbers.reserve(steps_.all().size() * numbers_a_step());
  for (const Drift& d : steps_.all()) {
    numbers.insert(numbers.end(), {d.mm, d.mw, d.wm, d.ww, d.var_m, d.cov, d.var_w});
  }
  return numbers;
}

void MomentumClock::restore(std::span<const double> numbers, Step before_block) {
  steps_ = {};
  before_block_ = before_block;
  reserve(static_cast<Step>(numbers.size() / numbers_a_step()));
  for (; !numbers.empty(); numbers = numbers.subspan(numbers_a_step())) {
    steps_.push({.mm = numbers[0],
                 .mw = numbers[1],
                 .wm = numbers[2],
                 .ww = numbers[3],
                 .var_m = numbers[4],
                 .cov = numbers[5],
                 .var_w = numbers[6]});
  }
}

void MomentumClock::restore_settled(Step steps) {
  steps_ = {};
  before_block_ = steps;
  reserve(steps);
  for (Step i = 0; i < steps; ++i) steps_.push({});
}

}  // namespace lazydp
