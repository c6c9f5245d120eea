#pragma once
// JSON for cards and checkpoints, in a fixed order: equal values give equal bytes.

#include "lazydp/base/text/json.h"
#include "lazydp/model/score_scaling_json.h"
#include "lazydp/model/shape.h"
#include "lazydp/privacy/ledger_json.h"
#include "lazydp/train/plan.h"

namespace lazydp {

// Writes everything of a plan that decides what a run computes or may claim. Values that earlier
// versions did not know are written if they are not what those versions did.
Json json_of(const Plan& plan);
Json json_of(const ModelShape& shape);

// Inverts json_of(ModelShape). Throws Json::exception for any other JSON.
ModelShape shape_from(const Json& json);

}  // namespace lazydp
