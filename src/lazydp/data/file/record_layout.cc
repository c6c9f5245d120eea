// Where the parts of a record lie. Apart from the checksums, which need a library of their own:
// what only scores has no data file.

#include <algorithm>

#include "lazydp/data/file/file_layout.h"

namespace lazydp {

RecordLayout::RecordLayout(const Schema& schema)
    : dense(schema.dense_features()), keys(schema.keys().size()) {
  for (const Column* column : schema.tables()) {
    const bool many = column->role == Role::multi;
    tables.push_back({.multi = many,
                      .place = many ? multi++ : single++,
                      .rows = static_cast<RowId>(column->rows)});
  }
}

std::uint32_t RecordLayout::good_page_bytes(std::size_t values) const {
  constexpr std::size_t kExamples = 16;
  const std::size_t record = fixed_bytes() + sizeof(std::uint32_t) * (values + 1);
  const std::size_t wanted = sizeof(PageHeader) + kExamples * record;
  return static_cast<std::uint32_t>(
      std::clamp<std::size_t>(std::bit_ceil(wanted), kMinPageBytes, kMaxPageBytes));
}

}  // namespace lazydp
