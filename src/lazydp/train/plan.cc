#include "lazydp/train/plan.h"

#include <cmath>
#include <string>

#include "lazydp/base/error.h"
#include "lazydp/random/cell.h"

namespace lazydp {
namespace {

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
}

}  // namespace lazydp
