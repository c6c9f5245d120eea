#include "lazydp/embedding/storage/row_file.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/kernels/prefetch.h"

namespace lazydp {

std::uint64_t seal_of(std::uint64_t place, const RowRecord& record, std::span<const float> values) {
  std::uint64_t x = (std::uint64_t{record.row} << 32 | record.epoch) + place * 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) + XXH3_64bits(values.data(), values.size_bytes());
  x = (x ^ x >> 31) * 0x94d049bb133111ebu;
  return x ^ x >> 29;
}

namespace {

// A row has one slot in this epoch, and at most one more from each of the last two.
constexpr std::uint64_t kPlacesPerRow = 3;
constexpr RowId kMostRows = std::numeric_limits<std::uint32_t>::max() / kPlacesPerRow - 1;

std::uint64_t places_for(RowId rows) {
  if (rows > kMostRows) {
    throw UserError("a table of " + std::to_string(rows) + " rows; one in a file has at most " +
                    std::to_string(kMostRows));
  }
  return kPlacesPerRow * static_cast<std::uint64_t>(rows);
}

}  // namespace

RowFile::RowFile(const std::string& path, TableId id, RowId rows, std::size_t dim,
                 GrowingFile::Name name)
    : id_(id),
      rows_(rows),
      dim_(dim),
      rows_file_(path + ".rows", places_for(rows) * dim * sizeof(float), name),
      index_file_(path + ".index", places_for(rows) * sizeof(RowRecord), name),
      memory_(static_cast<std::size_t>(rows) * sizeof(std::uint32_t)),
      places_(static_cast<std::uint32_t*>(memory_.data()), static_cast<std::size_t>(rows)) {}

Table RowFile::table() {
  return Table::scattered(id_, rows_, dim_, reinterpret_cast<float*>(rows_file_.data()),
                          places_.data());
}

void RowFile::clear(FirstValues first) {
  rows_file_.clear();
  index_file_.clear();
  go_back(0, 0, 0, std::move(first));
}

void RowFile::go_back(std::uint32_t epoch, RowId rows, std::uint64_t seal, FirstValues first) {
  first_ = std::move(first);
  epoch_ = epoch + 1;
  held_ = 0;
  search_ = 0;
  for (SlotBitmap* places : {&fresh_, &lost_, &lost_before_, &free_}) places->clear();
  std::ranges::fill(places_, 0u);
  used_ = static_cast<std::size_t>(
      std::min(rows_file_.size() / (dim_ * sizeof(float)), index_file_.size() / sizeof(RowRecord)));
  make_room();
  free_all_but_the_last(find_rows());
  if (held_ != rows) {
    damaged("it holds " + std::to_string(held_) + " rows where the checkpoint has " +
            std::to_string(rows));
  }
  verify_all();
  if (seal_ != seal) damaged("its rows are not those that the checkpoint was written with");
}

void RowFile::forget_later() {
  for (std::size_t place = 0; place < used_; ++place) {
    if (index()[place].epoch >= epoch_) index()[place] = {};
  }
}

// Reads in the order of the file, so that the system can prefetch. Leaves out slots that lost their
// row: the power may have failed between the writing of a new row's bytes there and of its entry.
void RowFile::verify_all() {
  constexpr std::size_t kAtATime = std::size_t{8} << 20;
  const std::size_t some = std::max<std::size_t>(1, kAtATime / (dim_ * sizeof(float)));
  seal_ = 0;
  for (std::size_t place = 0; place < used_; ++place) {
    if (place % some == 0) rows_file_.will_need(place * dim_ * sizeof(float), 2 * kAtATime);
    const RowRecord& record = index()[place];
    if (record.epoch == 0 || record.epoch >= epoch_ || places_[record.row] != place + 1) continue;
    verified(place);
    seal_ += record.seal;
  }
}

// Returns the row in a slot that an earlier epoch wrote, after comparing its checksum.
std::span<const float> RowFile::verified(std::size_t place) const {
  const RowRecord& record = index()[place];
  const std::span<const float> values = at(place);
  if (record.seal == seal_of(place, record, values)) return values;
  throw IoError("'" + rows_file_.path() + "' is damaged: the checksum of row " +
                std::to_string(record.row) + " is wrong");
}

// Finds the slot of every row: of several, that of the last epoch. Returns the other slots.
std::vector<std::uint32_t> RowFile::find_rows() {
  std::vector<std::uint32_t> lost;
  for (std::uint32_t place = 0; place < used_; ++place) {
    const RowRecord record = index()[place];
    if (record.epoch == 0 || record.epoch >= epoch_) {
      free_.add(place);
      continue;
    }
    if (record.row >= static_cast<std::uint64_t>(rows_)) {
      damaged("its entry " + std::to_string(place) + " is wrong");
    }
    std::uint32_t& there = places_[record.row];
    if (there == 0) {
      ++held_;
      there = place + 1;
      continue;
    }
    const std::uint32_t other = index()[there - 1].epoch;
    if (other == record.epoch) damaged("row " + std::to_string(record.row) + " is there twice");
    lost.push_back(other < record.epoch ? std::exchange(there, place + 1) - 1 : place);
  }
  return lost;
}

// Frees the slots that rows have lost, except those that the epoch before the last may still need:
// a row's newest lost slot, if the row lost it in the last epoch. The entries of the others are
// there as long as no other row has taken the slot.
void RowFile::free_all_but_the_last(std::vector<std::uint32_t> lost) {
  std::ranges::sort(lost, [this](std::uint32_t a, std::uint32_t b) {
    const RowRecord &x = index()[a], &y = index()[b];
    return std::pair(x.row, y.epoch) < std::pair(y.row, x.epoch);
  });
  for (std::size_t i = 0; i < lost.size(); ++i) {
    const std::uint32_t row = index()[lost[i]].row;
    const bool newest = i == 0 || index()[lost[i - 1]].row != row;
    const bool in_the_last_epoch = index()[places_[row] - 1].epoch + 1 == epoch_;
    (newest && in_the_last_epoch ? lost_before_ : free_).add(lost[i]);
  }
}

std::span<float> RowFile::at(std::size_t place) const {
  return {reinterpret_cast<float*>(rows_file_.data()) + place * dim_, dim_};
}

void RowFile::make_room() {
  const auto places = static_cast<std::size_t>(rows_file_.size() / (dim_ * sizeof(float)));
  for (SlotBitmap* set : {&fresh_, &lost_, &lost_before_, &free_}) set->grow(places);
}

// Gives a slot that no checkpoint needs any more to `row`. Takes the first in the file: rows that
// are needed together come to lie together, on few pages.
std::size_t RowFile::take(RowId row) {
  std::size_t place = free_.next(search_);
  search_ = place;
  if (place == SlotBitmap::none()) {
    place = used_;
    rows_file_.grow((used_ + 1) * dim_ * sizeof(float));
    index_file_.grow((used_ + 1) * sizeof(RowRecord));
    ++used_;
    make_room();
  } else {
    free_.remove(place);
  }
  index()[place] = {.row = static_cast<std::uint32_t>(row), .epoch = epoch_};
  fresh_.add(place);
  return place;
}

void RowFile::prepare(std::span<const RowId> ids) {
  constexpr std::size_t kAhead = 16;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i + kAhead < ids.size()) {
      prefetch(&places_[static_cast<std::size_t>(ids[i + kAhead])]);
    }
    std::uint32_t& place = places_[static_cast<std::size_t>(ids[i])];
    if (place != 0 && fresh_.has(place - 1)) continue;
    const std::size_t now = take(ids[i]);
    if (place == 0) {
      first_(ids[i], at(now));
      ++held_;
    } else {
      std::ranges::copy(verified(place - 1), at(now).begin());
      seal_ -= index()[place - 1].seal;
      lost_.add(place - 1);
    }
    place = static_cast<std::uint32_t>(now) + 1;
  }
}

void RowFile::will_need(std::span<const RowId> ids) const {
  const std::uint64_t bytes = dim_ * sizeof(float);
  for (const RowId id : ids) {
    const std::uint64_t place = places_[static_cast<std::size_t>(id)];
    if (place != 0) rows_file_.will_need((place - 1) * bytes, bytes);
  }
}

void RowFile::flush() {
  for (std::size_t place = fresh_.next(0); place != SlotBitmap::none();
       place = fresh_.next(place + 1)) {
    RowRecord& record = index()[place];
    seal_ -= record.seal;
    record.seal = seal_of(place, record, at(place));
    seal_ += record.seal;
  }
  rows_file_.flush();
  index_file_.flush();
}

// No checkpoint needs the slots that were lost by the end of the epoch before.
void RowFile::end_epoch() {
  free_.add_all(lost_before_);
  std::swap(lost_before_, lost_);
  lost_.clear();
  fresh_.clear();
  search_ = 0;
  ++epoch_;
}

void RowFile::copy(RowId first, std::span<float> values) const {
  for (RowId row = first; !values.empty(); ++row, values = values.subspan(dim_)) {
    const std::uint32_t place = places_[static_cast<std::size_t>(row)];
    if (place == 0) {
      first_(row, values.first(dim_));
    } else {
      std::ranges::copy(fresh_.has(place - 1) ? at(place - 1) : verified(place - 1),
                        values.begin());
    }
  }
}

void RowFile::damaged(const std::string& why) const {
  throw IoError("'" + index_file_.path() + "' is damaged: " + why);
}

}  // namespace lazydp
