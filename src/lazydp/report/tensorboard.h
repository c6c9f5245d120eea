#pragma once
// Numbers over steps in the format that TensorBoard opens.

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lazydp/base/types.h"

namespace lazydp {

using Scalars = std::vector<std::pair<std::string_view, double>>;

// One file of a folder that TensorBoard is shown; each model_and_tables of a run adds its own. Its
// times never go back, whatever the clock does. Secret, like the data that the numbers come from:
// for its owner only.
class EventFile {
 public:
  // Makes folder and file. `begins` is the first step to come: what files of earlier sessions say
  // of it and of later steps no longer counts. Throws IoError.
  EventFile(const std::string& folder, Step begins);

  // What is not finite is left out.
  void write(Step step, const Scalars& values);

 private:
  std::string event(Step step, const std::string& what);
  void record(const std::string& event);

  std::int64_t micros_;  // since 1970, of the last event
  std::string path_;
  std::ofstream file_;
};

// CRC-32C, as the format has it.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace lazydp
