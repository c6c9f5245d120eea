#pragma once
// Which model: one by name and scale, with any of its sizes replaced.

#include <string>

#include "lazydp/apps/flags.h"
#include "lazydp/model/shape.h"

namespace lazydp::apps {

struct ModelChoice {
  ModelShape shape;   // its name is "custom" once a size was replaced
  std::string named;  // the model it began as
  double scale = 1.0;
};

// Throws UserError unless such a model can be built.
ModelChoice choose_model(const Given& given);

}  // namespace lazydp::apps
