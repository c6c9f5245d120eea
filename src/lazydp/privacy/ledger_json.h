#pragma once
// The ledger as cards and checkpoints hold it.

#include "lazydp/base/text/json.h"
#include "lazydp/privacy/ledger.h"

namespace lazydp {

Json json_of(const Ledger& ledger);

// Inverts json_of(Ledger). Throws IoError for any other JSON, UserError for events that no
// mechanism can have.
Ledger ledger_from(const Json& json);

}  // namespace lazydp
