// Config files.

#include "lazydp/apps/config_file.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lazydp;
  static const MemoryFile file;
  file.put(text_of(data, size));
  refuses_or([&] {
    apps::Given given;
    apps::read_config_file(file.path(), apps::all_flags(), given);
  });
  return 0;
}
