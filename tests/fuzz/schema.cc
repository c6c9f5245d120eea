// Schemas: whatever is accepted reads back as itself.

#include "lazydp/data/schema.h"

#include "tests/fuzz/input.h"

void lazydp::try_input(const std::uint8_t* data, std::size_t size) {
  refuses_or([&] {
    const std::string text = schema_text(parse_schema(text_of(data, size), "fuzz"));
    if (schema_text(parse_schema(text, "again")) != text) std::abort();
  });
}
