#pragma once
// Schemas as people write them and data files keep them: TOML.

#include <string>
#include <string_view>

#include "lazydp/data/schema.h"

namespace lazydp {

// A valid schema, or a UserError that begins with `name`, the file it comes from.
Schema parse_schema(std::string_view text, const std::string& name);

// Reads back as the same schema.
std::string schema_text(const Schema& schema);

std::string_view role_name(Role role);
std::string_view transform_name(Transform transform);

}  // namespace lazydp
