// Copies records of a data file into a batch.

#include <algorithm>
#include <numeric>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/data/file/data_file.h"

namespace lazydp {
namespace {

constexpr std::size_t kExamplesPerTask = 128;

}  // namespace

void DataFile::read(std::span<const ExampleId> examples, Batch& batch) const {
  if (larger_than_memory_) prefetch(examples);
  std::vector<const std::byte*>& records = scratch();
  records.resize(examples.size());
  parallel_blocks(examples.size(), kExamplesPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) records[i] = find(examples[i]);
  });
  shape(records, batch);
  parallel_blocks(examples.size(), kExamplesPerTask, [&](std::size_t begin, std::size_t end) {
    bool good = true;
    for (std::size_t i = begin; i < end; ++i) good &= copy(records[i], i, batch);
    if (!good) damaged("it changed while it was read");
  });
}

// Prefetches all pages of a batch, so that the disk reads them at once instead of one after the
// other as each is missed.
void DataFile::prefetch(std::span<const ExampleId> examples) const {
  std::uint64_t first = 0;
  std::uint64_t end = 0;  // pages that neighbours in the batch share, or that lie side by side
  const auto ask = [&] {
    if (first < end) file_.will_need({page(first).data(), (end - first) * header_.page_bytes});
  };
  for (const ExampleId example : examples) {
    check(example < header_.examples, "example within the data set");
    const std::uint64_t number = page_of(example);
    if (first <= number && number < end) continue;
    if (number != end || first == end) {
      ask();
      first = number;
    }
    end = number + 1;
  }
  ask();
}

// Returns this thread's scratch: reading allocates nothing once batches have had their largest
// size.
std::vector<const std::byte*>& DataFile::scratch() {
  thread_local std::vector<const std::byte*> records;
  return records;
}

void DataFile::shape(std::span<const std::byte* const> records, Batch& batch) const {
  batch.size = records.size();
  batch.dense.reshape(records.size(), dense_features());
  if (layout_.dense == 0) batch.dense.fill(1.0f);
  batch.labels.resize(records.size());
  batch.bags.resize(layout_.tables.size());
  for (std::size_t k = 0; k < layout_.tables.size(); ++k) {
    const RecordLayout::TableSlot& table = layout_.tables[k];
    Bags& bags = batch.bags[k];
    bags.weights.clear();
    bags.offsets.resize(records.size() + 1);
    bags.offsets[0] = 0;
    if (!table.multi) {
      std::iota(bags.offsets.begin(), bags.offsets.end(), std::size_t{0});
    } else {
      for (std::size_t i = 0; i < records.size(); ++i) {
        const std::size_t count = word(records[i] + layout_.counts_at(), table.place);
        if (count > header_.page_bytes) damaged("it changed while it was read");
        bags.offsets[i + 1] = bags.offsets[i] + count;
      }
    }
    bags.ids.resize(bags.offsets.back());
  }
}

// Copies a record into the batch. Returns whether all rows are in range.
bool DataFile::copy(const std::byte* record, std::size_t place, Batch& batch) const {
  batch.labels[place] = load<float>(record);
  std::memcpy(batch.dense.row(place).data(), record + sizeof(float), sizeof(float) * layout_.dense);
  bool good = true;
  const std::byte* ids = record + layout_.ids_at();
  const std::byte* many = record + layout_.fixed_bytes();
  for (std::size_t k = 0; k < layout_.tables.size(); ++k) {
    const RecordLayout::TableSlot& table = layout_.tables[k];
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

std::uint64_t DataFile::key_of(ExampleId example, std::size_t key) const {
  check(key < layout_.keys, "key column within the schema");
  return load<std::uint64_t>(find(example) + layout_.keys_at() + sizeof(std::uint64_t) * key);
}

}  // namespace lazydp
