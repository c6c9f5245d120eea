#include "lazydp/data/split.h"

#include <algorithm>
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

// Maps a key to [0, 1), independently of the other uses of its hash.
double place_of(std::uint64_t key) {
  key ^= key >> 32;
  key *= 0xD6E8FEB86659FD93u;
  key ^= key >> 32;
  return static_cast<double>(key >> 11) * 0x1p-53;
}

constexpr std::uint64_t kBlock = 64;  // positions

bool all_places(const Places& places) {
  return places.from <= 0.0 && places.to >= 1.0;
}

// The intervals of the parts: training first, test last.
struct PlacesOfParts {
  Places train, validation, test;

  explicit PlacesOfParts(const SplitShares& shares)
      : train{0.0, 1.0 - shares.test - shares.validation},
        validation{train.to, 1.0 - shares.test},
        test{validation.to, 1.0} {}
};

}  // namespace

// Hashes by SplitMix64 (Steele, Lea and Flood 2014) at a fixed seed: neighbouring positions are
// mapped independently.
double place_of_position(ExampleId position) {
  constexpr std::uint64_t kSeed = 0x6C617A7964700013u;
  std::uint64_t x = kSeed + (position + 1) * 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  x ^= x >> 31;
  return static_cast<double>(x >> 11) * 0x1p-53;
}

Part::Part(std::shared_ptr<const DataFile> file, const Places& places)
    : file_(std::move(file)), size_(file_->size()), places_(places) {
  if (all_places(places)) return;
  size_ = 0;
  before_.reserve(file_->size() / kBlock + 1);
  for (ExampleId i = 0; i < file_->size(); ++i) {
    if (i % kBlock == 0) before_.push_back(size_);
    if (takes(i)) ++size_;
  }
}

Part::Part(std::shared_ptr<const DataFile> file, std::vector<std::uint32_t> members)
    : file_(std::move(file)), size_(members.size()), members_(std::move(members)) {}

// Returns the position of the part's example i: finds its block, then counts one by one.
ExampleId Part::with_place(ExampleId i) const {
  if (all_places(places_)) return i;
  const auto after = std::ranges::upper_bound(before_, i);
  const auto block = static_cast<std::uint64_t>(after - before_.begin()) - 1;
  std::uint64_t left = i - before_[block];
  ExampleId position = block * kBlock;
  while (!takes(position) || left-- > 0) ++position;
  return position;
}

bool Part::takes(ExampleId number) const {
  return places_.contain(place_of_position(file_->place_of(number)));
}

ExampleId Part::before(std::uint64_t place) const {
  const ExampleId number = file_->examples_before(place);
  if (!members_.empty()) {
    return static_cast<ExampleId>(std::ranges::lower_bound(members_, number) - members_.begin());
  }
  if (all_places(places_)) return number;
  if (number >= file_->size()) return size_;
  ExampleId count = before_[number / kBlock];
  for (ExampleId i = number / kBlock * kBlock; i < number; ++i) {
    if (takes(i)) ++count;
  }
  return count;
}

void Part::read(std::span<const ExampleId> examples, Batch& batch) const {
  thread_local std::vector<ExampleId> numbers;  // reading allocates nothing in the steady state
  numbers.clear();
  for (const ExampleId i : examples) {
    check(i < size_, "example within the part");
    numbers.push_back(in_file(i));
  }
  file_->read(numbers, batch);
}

Split split_by_position(const std::shared_ptr<const DataFile>& file, const SplitShares& shares) {
  const PlacesOfParts places(shares);
  const auto part = [&](double share, const Places& of_part) {
    return share > 0.0 ? std::make_unique<Part>(file, of_part) : nullptr;
  };
  Split split{.train = std::make_unique<Part>(file, places.train),
              .validation = part(shares.validation, places.validation),
              .test = part(shares.test, places.test)};
  require_something(split, *file);
  return split;
}

Split split_by_key(const std::shared_ptr<const DataFile>& file, std::size_t key,
                   const SplitShares& shares) {
  if (file->size() > std::numeric_limits<std::uint32_t>::max()) {
    throw UserError("'" + file->path() + "' has " + std::to_string(file->size()) +
                    " examples; a file that is split or protected by a column has below 2^32");
  }
  const PlacesOfParts places(shares);
  std::vector<std::uint32_t> train;
  std::vector<std::uint32_t> validation;
  std::vector<std::uint32_t> test;
  for (ExampleId i = 0; i < file->size(); ++i) {
    const std::uint64_t of_example = file->key_of(i, key);
    const double place = place_of(of_example != 0 ? of_example : ~file->place_of(i));
    auto& part = places.test.contain(place)         ? test
                 : places.validation.contain(place) ? validation
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
