#pragma once
// Gives all weights of a trainer as tensors to be written, every row settled.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lazydp/export/safetensors.h"
#include "lazydp/train/trainer.h"

namespace lazydp {

// Returns the tensors to write. Rows of tables in memory must have been settled by the caller.
// Tables in files are settled as they are written, a few megabytes at a time, and `progress` is
// called with the number of rows that have passed. The trainer must outlive the tensors.
std::vector<TensorSource> export_weights(
    Trainer& trainer, const std::function<void(std::uint64_t rows)>& progress = {});

// Sends this rank's rows to the first rank: the other ranks call this while the first one writes.
void send_rows_to_first_rank(Trainer& trainer);

// Returns the name of a table among the tensors.
inline std::string table_name(std::size_t table) {
  return "tables." + std::to_string(table) + ".weight";
}

// Returns the name of the scales of a table's rows, where these have eight bits a weight.
inline std::string scale_name(std::size_t table) {
  return "tables." + std::to_string(table) + ".scale";
}

}  // namespace lazydp
