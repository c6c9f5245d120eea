#pragma once
// Copies records, as data files hold them, into a batch.

#include <cstddef>
#include <span>

#include "lazydp/data/batch.h"
#include "lazydp/data/file/file_layout.h"

namespace lazydp {

// Makes room in `batch` for these records, which copy_record() then fills. Returns false if one of
// them claims to have more than `most_values` values in a multi column.
bool shape_batch(const RecordLayout& layout, std::span<const std::byte* const> records,
                 std::size_t most_values, Batch& batch);

// Copies a record to example `place` of a batch that has room for it. Returns whether all rows are
// in range.
bool copy_record(const RecordLayout& layout, const std::byte* record, std::size_t place,
                 Batch& batch);

}  // namespace lazydp
