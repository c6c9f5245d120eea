#pragma once
// How scores are scaled, as cards and checkpoints keep it.

#include <cmath>

#include "lazydp/base/error.h"
#include "lazydp/base/text/json.h"
#include "lazydp/model/score_scaling.h"

namespace lazydp {

inline Json json_of(const ScoreScaling& scaling) {
  return {{"scale", scaling.scale}, {"shift", scaling.shift}};
}

// Inverts it. Throws Json::exception for any other JSON, UserError for numbers that cannot be.
inline ScoreScaling score_scaling_from(const Json& json) {
  const ScoreScaling scaling = {json.at("scale").get<double>(), json.at("shift").get<double>()};
  if (!(std::isfinite(scaling.scale) && scaling.scale > 0.0 && std::isfinite(scaling.shift))) {
    throw UserError("the scores are scaled by " + json.dump() +
                    "; the scale must be positive and both numbers finite");
  }
  return scaling;
}

}  // namespace lazydp
