#pragma once
// The few scalar types that all folders share.

#include <cstdint>

namespace lazydp {

using Step = std::uint32_t;     // 1 is the first training step; 0 means "before training"
using RowId = std::int64_t;     // row number within one table
using TableId = std::uint16_t;  // which table of a model

}  // namespace lazydp
