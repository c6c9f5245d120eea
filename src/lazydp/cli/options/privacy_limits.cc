#include "lazydp/cli/options/privacy_limits.h"

#include <unistd.h>

#include <cmath>
#include <iostream>
#include <string>

#include "lazydp/base/text/number_text.h"
#include "lazydp/cli/output.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/cli/run/ranks.h"

namespace lazydp::cli {

void require_small_delta(const FlagTexts& given, double delta, std::uint64_t examples) {
  const double least = 1.0 / static_cast<double>(examples);
  if (delta < least || (given.force && truth("force", *given.force))) return;
  throw UserError("delta is '" + given.delta.value_or(shortest(delta)) +
                  "'; it must be below 1 / " + with_commas(static_cast<double>(examples)) +
                  " examples or units, " + shortest(least) +
                  ", or a person's data may be given away whole; --force takes it all the same");
}

void warn_of_large_epsilon(double epsilon) {
  constexpr double kHardlyAPromise = 20.0;
  if (!(epsilon > kHardlyAPromise) || !std::isfinite(epsilon)) return;
  std::cerr << coloured("lazydp:", Colour::error, may_colour(STDERR_FILENO)) << " careful: epsilon "
            << rounded_up(epsilon, 4)
            << " promises hardly anything; up to 10 is usual, and above 20 an attacker may be all "
               "but certain whose data was used\n";
}

void warn_of_large_budget(const Plan& plan) {
  if (plan.budget && ranks().rank() == 0) warn_of_large_epsilon(plan.budget->epsilon);
}

}  // namespace lazydp::cli
