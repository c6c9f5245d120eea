// Config files.

#include "lazydp/apps/config_file.h"
#include "tests/fuzz/input.h"

void lazydp::try_input(const std::uint8_t* data, std::size_t size) {
  static const MemoryFile file;
  file.put(text_of(data, size));
  refuses_or([&] {
    apps::Given given;
    apps::read_config_file(file.path(), apps::all_flags(), given);
  });
}
