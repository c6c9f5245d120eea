#include "lazydp/data/file/read_records.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace lazydp {

// A schema without dense columns has one feature that is always 1, so that models have an input.
bool shape_batch(const RecordLayout& layout, std::span<const std::byte* const> records,
                 std::size_t most_values, Batch& batch) {
  batch.size = records.size();
  batch.dense.reshape(records.size(), std::max<std::size_t>(1, layout.dense));
  if (layout.dense == 0) batch.dense.fill(1.0f);
  batch.labels.resize(records.size());
  batch.bags.resize(layout.tables.size());
  for (std::size_t k = 0; k < layout.tables.size(); ++k) {
    const RecordLayout::TableSlot& table = layout.tables[k];
    Bags& bags = batch.bags[k];
    bags.weights.clear();
    bags.offsets.resize(records.size() + 1);
    bags.offsets[0] = 0;
    if (!table.multi) {
      std::iota(bags.offsets.begin(), bags.offsets.end(), std::size_t{0});
    } else {
      for (std::size_t i = 0; i < records.size(); ++i) {
        const std::size_t count = word(records[i] + layout.counts_at(), table.place);
        if (count > most_values) return false;
        bags.offsets[i + 1] = bags.offsets[i] + count;
      }
    }
    bags.ids.resize(bags.offsets.back());
  }
  return true;
}

bool copy_record(const RecordLayout& layout, const std::byte* record, std::size_t place,
                 Batch& batch) {
  batch.labels[place] = load<float>(record);
  std::memcpy(batch.dense.row(place).data(), record + sizeof(float), sizeof(float) * layout.dense);
  bool good = true;
  const std::byte* ids = record + layout.ids_at();
  const std::byte* many = record + layout.fixed_bytes();
  for (std::size_t k = 0; k < layout.tables.size(); ++k) {
    const RecordLayout::TableSlot& table = layout.tables[k];
    Bags& bags = batch.bags[k];
    const std::byte* from = table.multi ? many : ids + sizeof(std::uint32_t) * table.place;
    const std::size_t count = bags.length(place);
    RowId* to = bags.ids.data() + bags.offsets[place];
    for (std::size_t j = 0; j < count; ++j) {
      to[j] = word(from, j);
      good &= to[j] < table.rows;
    }
    if (table.multi) many += sizeof(std::uint32_t) * count;
  }
  return good;
}

}  // namespace lazydp
