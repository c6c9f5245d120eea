// Config files.

#include "lazydp/cli/config.h"

#include "tests/fuzz/input.h"

void lazydp::try_input(const std::uint8_t* data, std::size_t size) {
  static const MemoryFile file;
  file.put(text_of(data, size));
  refuses_or([&] {
    cli::FlagTexts given;
    cli::read_config_file(file.path(), cli::all_flags(), given);
  });
}
