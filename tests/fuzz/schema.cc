// Schemas: whatever is accepted reads back as itself.

#include "lazydp/data/schema_text.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lazydp;
  refuses_or([&] {
    const std::string text = schema_text(parse_schema(text_of(data, size), "fuzz"));
    if (schema_text(parse_schema(text, "again")) != text) std::abort();
  });
  return 0;
}
