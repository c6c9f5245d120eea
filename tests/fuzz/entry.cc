// Where libFuzzer comes in.

#include "tests/fuzz/input.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name for it
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lazydp::try_input(data, size);
  return 0;
}
