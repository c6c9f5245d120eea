#include "lazydp/data/split.h"

#include <cmath>
#include <limits>
#include <string>

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

void require_something(const Split& split, const DataFile& file) {
  if (split.train->size() > 0) return;
  throw UserError("none of the " + std::to_string(file.size()) + " examples of '" + file.path() +
                  "' is left to train on; hold out fewer");
}

std::unique_ptr<Part> part_or_none(double share, std::unique_ptr<Part> part) {
  return share > 0.0 ? std::move(part) : nullptr;
}

// In [0, 1), independent of what the key is compared with elsewhere.
double place_of(std::uint64_t key) {
  key ^= key >> 32;
  key *= 0xD6E8FEB86659FD93u;
  key ^= key >> 32;
  return static_cast<double>(key >> 11) * 0x1p-53;
}

}  // namespace

Part::Part(std::shared_ptr<const DataFile> file, ExampleId first, std::uint64_t count)
    : file_(std::move(file)), first_(first), size_(count) {}

Part::Part(std::shared_ptr<const DataFile> file, std::vector<std::uint32_t> members)
    : file_(std::move(file)), size_(members.size()), members_(std::move(members)) {}

void Part::read(std::span<const ExampleId> examples, Batch& batch) const {
  thread_local std::vector<ExampleId> numbers;  // reading allocates nothing in steady state
  numbers.clear();
  for (const ExampleId i : examples) {
    check(i < size_, "example within the part");
    numbers.push_back(in_file(i));
  }
  file_->read(numbers, batch);
}

Split split_by_position(const std::shared_ptr<const DataFile>& file, const SplitShares& shares) {
  const std::uint64_t all = file->size();
  const auto count = [all](double share) {
    return static_cast<std::uint64_t>(std::llround(share * static_cast<double>(all)));
  };
  const std::uint64_t test = std::min(all, count(shares.test));
  const std::uint64_t validation = std::min(all - test, count(shares.validation));
  const std::uint64_t train = all - test - validation;
  Split split{.train = std::make_unique<Part>(file, 0, train),
              .validation =
                  part_or_none(shares.validation, std::make_unique<Part>(file, train, validation)),
              .test = part_or_none(shares.test, std::make_unique<Part>(file, all - test, test))};
  require_something(split, *file);
  return split;
}

Split split_by_key(const std::shared_ptr<const DataFile>& file, std::size_t key,
                   const SplitShares& shares) {
  if (file->size() > std::numeric_limits<std::uint32_t>::max()) {
    throw UserError("'" + file->path() + "' has " + std::to_string(file->size()) +
                    " examples; a file that is split or protected by a column has below 2^32");
  }
  std::vector<std::uint32_t> train;
  std::vector<std::uint32_t> validation;
  std::vector<std::uint32_t> test;
  for (ExampleId i = 0; i < file->size(); ++i) {
    const std::uint64_t of_example = file->key_of(i, key);
    const double place = place_of(of_example != 0 ? of_example : ~i);
    auto& part = place >= 1.0 - shares.test                       ? test
                 : place >= 1.0 - shares.test - shares.validation ? validation
                                                                  : train;
    part.push_back(static_cast<std::uint32_t>(i));
  }
  Split split{.train = std::make_unique<Part>(file, std::move(train)),
              .validation = part_or_none(shares.validation,
                                         std::make_unique<Part>(file, std::move(validation))),
              .test = part_or_none(shares.test, std::make_unique<Part>(file, std::move(test)))};
  require_something(split, *file);
  return split;
}

}  // namespace lazydp
