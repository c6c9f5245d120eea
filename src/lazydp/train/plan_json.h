#pragma once
// What goes into cards and checkpoints, in an order that stays: equal values give equal bytes.

#include "lazydp/base/text/json.h"
#include "lazydp/model/shape.h"
#include "lazydp/privacy/ledger.h"
#include "lazydp/train/plan.h"

namespace lazydp {

// Everything of a plan that decides what a run computes or may claim.
Json json_of(const Plan& plan);
Json json_of(const ModelShape& shape);
Json json_of(const Ledger& ledger);

// The inverse of json_of(ModelShape). Throws Json::exception for anything else.
ModelShape shape_from(const Json& json);

// Throws IoError unless `json` is what json_of(Ledger) makes.
Ledger ledger_from(const Json& json);

}  // namespace lazydp
