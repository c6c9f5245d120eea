// Reads examples of a data file into a batch.

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/data/file/data_file.h"
#include "lazydp/data/file/read_records.h"

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
  if (!shape_batch(layout_, records, header_.page_bytes, batch))
    damaged("it changed while it was read");
  parallel_blocks(examples.size(), kExamplesPerTask, [&](std::size_t begin, std::size_t end) {
    bool good = true;
    for (std::size_t i = begin; i < end; ++i) good &= copy_record(layout_, records[i], i, batch);
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

std::uint64_t DataFile::key_of(ExampleId example, std::size_t key) const {
  check(key < layout_.keys, "key column within the schema");
  return load<std::uint64_t>(find(example) + layout_.keys_at() + sizeof(std::uint64_t) * key);
}

}  // namespace lazydp
