#pragma once
// All weights of a trainer as tensors to be written, every row settled.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lazydp/export/safetensors.h"
#include "lazydp/train/trainer.h"

namespace lazydp {

// Of tables in memory the caller has settled every row. Tables in files are settled on their way
// out, a few megabytes at a time, and `progress` hears how many rows have passed. The trainer must
// outlive what is returned.
std::vector<TensorSource> export_weights(
    Trainer& trainer, const std::function<void(std::uint64_t rows)>& progress = {});

// Rows that other ranks hold come as these send them: they call this while the first one writes.
void send_rows_to_first_rank(Trainer& trainer);

// What a table is called among them.
std::string table_name(std::size_t table);

}  // namespace lazydp
