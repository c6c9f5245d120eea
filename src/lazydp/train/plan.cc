#include "lazydp/train/plan.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

#include "lazydp/base/error.h"
#include "lazydp/random/cell.h"

namespace lazydp {
namespace {

constexpr double kLeastClipNorm = 1e-12;

void require(bool ok, const char* name, double value, const char* allowed) {
  if (ok) return;
  throw UserError(std::string(name) + " is " + std::to_string(value) + "; it must be " + allowed);
}

}  // namespace

void Plan::validate() const {
  mechanism.validate();
  if (steps == 0 || steps > kLastStep) {
    throw UserError("steps is " + std::to_string(steps) + "; it must be between 1 and " +
                    std::to_string(kLastStep));
  }
  const auto positive = [](double x) { return std::isfinite(x) && x > 0.0; };
  require(positive(table_rate), "lr", table_rate, "positive and finite, for example 0.1");
  require(positive(dense_rate), "dense-lr", dense_rate, "positive and finite, for example 0.1");
  require(std::isfinite(weight_decay) && weight_decay >= 0.0, "weight-decay", weight_decay,
          "zero or positive");
  // A step keeps the fraction 1 - lr * weight_decay of a row: there must be some.
  require(table_rate * weight_decay < 1.0, "lr x weight-decay", table_rate * weight_decay,
          "below 1");
  // Squares of floats below 1e-19 are 0: a gradient must be far longer than that before it has to
  // be clipped. A schedule is least at one of its ends.
  const double least = mechanism.clip_norm *
                       std::min(clip_schedule.factor(1, steps), clip_schedule.factor(steps, steps));
  if (recipe.clips() && !(least >= kLeastClipNorm)) {
    std::ostringstream message;
    message << "clip-norm is " << least << " at its least; it must be at least " << kLeastClipNorm
            << ", or 32-bit floats cannot tell how long a gradient is";
    throw UserError(message.str());
  }
}

}  // namespace lazydp
