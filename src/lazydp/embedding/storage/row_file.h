#pragma once
// The rows of one table that were ever read, in a file; all other rows have their first values.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lazydp/base/io/growing_file.h"
#include "lazydp/base/memory.h"
#include "lazydp/embedding/table.h"

namespace lazydp {

// A set of a row file's slots as a bitmap: one bit a slot, so that its size is bounded by the
// file's.

class SlotBitmap {
 public:
  // Makes room for slots below `places`: only these may be queried and added.
  void grow(std::size_t places) {
    if (places / kBits >= words_.size()) words_.resize(places / kBits + 1);
  }

  bool has(std::size_t place) const { return (words_[place / kBits] >> (place % kBits) & 1) != 0; }
  void add(std::size_t place) { words_[place / kBits] |= bit(place); }
  void remove(std::size_t place) { words_[place / kBits] &= ~bit(place); }
  void clear() { std::ranges::fill(words_, 0); }

  void add_all(const SlotBitmap& other) {
    words_.resize(std::max(words_.size(), other.words_.size()));
    for (std::size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
  }

  // Returns the first member from `place` on, or none().
  std::size_t next(std::size_t place) const {
    for (std::size_t i = place / kBits; i < words_.size(); ++i) {
      const std::uint64_t word = i == place / kBits ? words_[i] & ~(bit(place) - 1) : words_[i];
      if (word != 0) return i * kBits + static_cast<std::size_t>(std::countr_zero(word));
    }
    return none();
  }
  static constexpr std::size_t none() { return ~std::size_t{0}; }

 private:
  static constexpr std::size_t kBits = 64;
  static std::uint64_t bit(std::size_t place) { return std::uint64_t{1} << (place % kBits); }

  std::vector<std::uint64_t> words_;
};

// An entry of a row file's index: which row a slot holds, since which epoch, and its checksum.
struct RowRecord {
  std::uint32_t row = 0;
  std::uint32_t epoch = 0;  // 0: the slot is empty
  std::uint64_t seal = 0;   // seal_of() when the epoch was flushed; 0 before
};
static_assert(sizeof(RowRecord) == 16);

// Returns the checksum of an entry, the slot it stands in, and the row there. It detects bits that
// rot in either, and entries that change places (but for one in 2^64).
std::uint64_t seal_of(std::uint64_t place, const RowRecord& record, std::span<const float> values);

// Keeps rows in the order in which they were first needed, so that a table of which little is used
// takes little of the disk and little memory: neighbours in the file were needed together.
//
// Time is cut into epochs; an epoch ends when a checkpoint is saved. Rows that an epoch wrote are
// not overwritten: a row that is needed in a later epoch is copied to a new slot first. The rows as
// they were at the end of the last epoch, and of the one before, therefore exist whatever happens
// in the next, and going back to them means forgetting slots. Only one order of writes matters: an
// epoch is flushed before it ends.
//
// Every row that an earlier epoch wrote is sealed with a checksum, which is compared before the row
// is used again; the sum of all seals says whether these are the rows that were saved.
//
//   PATH.rows    dim floats a slot
//   PATH.index   a RowRecord a slot
class RowFile {
 public:
  // Fills in the values of a row that was never needed. Called by several threads.
  using FirstValues = std::function<void(RowId row, std::span<float> values)>;

  // Opens or makes the two files. The table is empty until clear() or go_back() is called.
  RowFile(const std::string& path, TableId id, RowId rows, std::size_t dim, GrowingFile::Name name);

  // Returns a view that is valid as long as this object lives and does not move.
  Table table();

  void clear(FirstValues first);

  // Restores the table as it was when `epoch` ended, with `rows` rows that were ever needed and the
  // seal that it then had. Reads all of these rows; throws IoError if the files hold something
  // else. Changes nothing in the files: forget_later() does, and must be called before any row is
  // prepared.
  void go_back(std::uint32_t epoch, RowId rows, std::uint64_t seal, FirstValues first);
  // Removes the entries of later epochs from the index.
  void forget_later();

  // Makes these rows readable and writable until the epoch ends. Throws IoError when the disk is
  // full; rows that earlier epochs wrote are then all still there.
  void prepare(std::span<const RowId> ids);

  // Prefetches rows that will be prepared soon.
  void will_need(std::span<const RowId> ids) const;

  // Seals the epoch's rows and writes them to the device. No row may be prepared or written between
  // this and end_epoch().
  void flush();
  void end_epoch();

  bool holds(RowId row) const { return places_[static_cast<std::size_t>(row)] != 0; }
  RowId held() const { return held_; }          // number of rows that were ever needed
  std::uint64_t seal() const { return seal_; }  // of their bytes, when they were last flushed
  std::uint64_t bytes() const { return rows_file_.size() + index_file_.size(); }  // on the disk

  // Copies rows first, first + 1, …, whether or not they were ever needed. Throws IoError for a
  // damaged row.
  void copy(RowId first, std::span<float> values) const;

 private:
  RowRecord* index() const { return reinterpret_cast<RowRecord*>(index_file_.data()); }
  std::span<float> at(std::size_t place) const;
  std::size_t take(RowId row);
  void make_room();
  std::vector<std::uint32_t> find_rows();
  void free_all_but_the_last(std::vector<std::uint32_t> lost);
  void verify_all();
  std::span<const float> verified(std::size_t place) const;
  [[noreturn]] void damaged(const std::string& why) const;

  TableId id_;
  RowId rows_;
  std::size_t dim_;
  GrowingFile rows_file_;
  GrowingFile index_file_;
  HugeMemory memory_;
  std::span<std::uint32_t> places_;  // slot of every row, from 1; 0: it was never needed
  FirstValues first_;
  std::uint32_t epoch_ = 1;
  std::size_t used_ = 0;  // slots that were ever taken
  RowId held_ = 0;
  std::uint64_t seal_ = 0;  // sum of the seals of all rows but fresh ones, which flush() adds

  // A slot belongs to a row, or was lost by one and is kept for going back, or is free.
  SlotBitmap fresh_;        // slots of rows that are written in this epoch
  SlotBitmap lost_;         // slots lost in this epoch: the last saved table needs them
  SlotBitmap lost_before_;  // lost in the epoch before: the table saved before the last needs them
  SlotBitmap free_;
  std::size_t search_ = 0;  // no slot before this one is free
};

}  // namespace lazydp
