#pragma once
// Writes numbers over steps in the format that TensorBoard reads.

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lazydp/base/types.h"

namespace lazydp {

using Scalars = std::vector<std::pair<std::string_view, double>>;

// One file of a folder for TensorBoard; each session of a run adds its own. Its times never go
// back, whatever the clock does. Secret, like the data that the numbers come from: only its owner
// may read it.
class EventFile {
 public:
  // Makes folder and file. `begins` is the first step to come: it overrides what files of earlier
  // sessions hold for this and later steps. Throws IoError.
  EventFile(const std::string& folder, Step begins);

  // Leaves out values that are not finite.
  void write(Step step, const Scalars& values);

 private:
  std::string event(Step step, const std::string& what);
  void record(const std::string& event);

  std::int64_t micros_;  // time of the last event, since 1970
  std::string path_;
  std::ofstream file_;
};

// Returns the CRC-32C that the format uses.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace lazydp
