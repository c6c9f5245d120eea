#pragma once
// Varies a number over the steps of a run: learning rate, noise multiplier or clip norm.

#include <cstdint>
#include <string>
#include <string_view>

#include "lazydp/base/types.h"

namespace lazydp {

// A factor in (0, 1] for every step: a linear warm-up, then a shape over the steps that remain.
struct Schedule {
  enum class Shape : std::uint8_t { constant, polynomial, cosine, step };

  Shape shape = Shape::constant;
  double power = 1.0;  // polynomial: (1 - progress)^power
  Step every = 0;      // step: multiply by `decay` after so many steps
  double decay = 1.0;
  Step warmup = 0;  // steps

  // Returns the factor of step t in 1 … steps. Never 0: the last step of a decay is the smallest
  // that still counts.
  double factor(Step t, Step steps) const;

  // Parses constant | linear | poly:POWER | cosine | step:EVERY:FACTOR, each after an optional
  // "warmup:STEPS,". Throws UserError.
  static Schedule parse(std::string_view text);

  bool constant() const { return shape == Shape::constant && warmup == 0; }

  // Returns a text that parse() reads back as the same schedule.
  std::string text() const;
};

}  // namespace lazydp
