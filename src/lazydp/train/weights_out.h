#pragma once
// All weights of a trainer as tensors to be written, every row settled.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lazydp/train/safetensors.h"
#include "lazydp/train/trainer.h"

namespace lazydp {

// Of tables in memory the caller has settled every row. Tables in files are settled on their way
// out, a few megabytes at a time, and `progress` hears how many rows have passed. The trainer must
// outlive what is returned.
std::vector<TensorOut> weights_out(Trainer& trainer,
                                   const std::function<void(std::uint64_t rows)>& progress = {});

// What a table is called among them.
std::string table_name(std::size_t table);

}  // namespace lazydp
