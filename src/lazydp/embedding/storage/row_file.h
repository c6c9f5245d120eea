#pragma once
// The rows of one table that were ever read, in a file; all others are what they were at first.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lazydp/base/io/growing_file.h"
#include "lazydp/base/memory.h"
#include "lazydp/embedding/storage/slot_bitmap.h"
#include "lazydp/embedding/table.h"

namespace lazydp {

// An entry of a row file's index: which row a place holds, since when, and what its bytes were.

struct RowRecord {
  std::uint32_t row = 0;
  std::uint32_t epoch = 0;  // 0: the place is empty
  std::uint64_t seal = 0;   // seal_of() when the epoch was flushed; 0 before
};
static_assert(sizeof(RowRecord) == 16);

// Of an entry in its place, and of the row there: bits that rot in either, and entries that change
// places, are noticed (but for one in 2^64).
std::uint64_t seal_of(std::uint64_t place, const RowRecord& record, std::span<const float> values);

// Rows lie in the order in which they came to be needed, so that a table of which little is used
// takes little of the disk, and little of memory: neighbours in the file were needed together.
//
// Time is cut into epochs, which end when somebody keeps a checkpoint. What an epoch left in the
// file is not written again: a row that is needed in a later epoch is copied to a new place first.
// So the rows as they were at the end of the last epoch, and of the one before, are there whatever
// happens in the next, and going back to them means forgetting places. No order of writes has to be
// kept but one: an epoch is flushed before it ends.
//
// Every row that an earlier epoch left is sealed with a checksum, which is compared before the row
// is used again; the sum of all seals says whether these are the rows that were kept.
//
//   PATH.rows    dim floats a place
//   PATH.index   a RowRecord a place
class RowFile {
 public:
  // What a row holds that was never needed. Called by several threads.
  using FirstValues = std::function<void(RowId row, std::span<float> values)>;

  // Opens or makes the two files. Nothing is in the table before clear() or go_back().
  RowFile(const std::string& path, TableId id, RowId rows, std::size_t dim, GrowingFile::Name name);

  // A view, as long as this lives and does not move.
  Table table();

  void clear(FirstValues first);

  // The table as it was when `epoch` ended, with `rows` rows that were ever needed and the seal
  // that it then had. Reads every one of them; throws IoError if the files hold something else.
  // Changes nothing in the files: that is for forget_later(), before anything is prepared.
  void go_back(std::uint32_t epoch, RowId rows, std::uint64_t seal, FirstValues first);
  // Of whatever came later nothing is left in the index.
  void forget_later();

  // From here until the epoch ends these rows may be read and written. Throws IoError when the disk
  // is full: then nothing was lost of what earlier epochs left.
  void prepare(std::span<const RowId> ids);

  // These rows will be prepared soon.
  void will_need(std::span<const RowId> ids) const;

  // The epoch's rows are sealed and on the device. Between this and end_epoch() nothing is prepared
  // or written.
  void flush();
  void end_epoch();

  bool holds(RowId row) const { return places_[static_cast<std::size_t>(row)] != 0; }
  RowId held() const { return held_; }          // rows that were ever needed
  std::uint64_t seal() const { return seal_; }  // of their bytes, when they were last flushed
  std::uint64_t bytes() const { return rows_file_.size() + index_file_.size(); }  // on the disk

  // Rows first, first + 1, …, whether or not they were needed. Throws IoError for a damaged one.
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
  std::span<std::uint32_t> places_;  // of every row, from 1; 0: it was never needed
  FirstValues first_;
  std::uint32_t epoch_ = 1;
  std::size_t used_ = 0;  // places that were ever taken
  RowId held_ = 0;
  std::uint64_t seal_ = 0;  // the sum of those of all rows but fresh ones, which flush() adds

  // A place is a row's, or was lost by one and is kept for going back, or is free.
  SlotBitmap fresh_;        // of rows that are written in this epoch
  SlotBitmap lost_;         // in this epoch: the last kept table has them
  SlotBitmap lost_before_;  // in the one before: the table kept before the last has them
  SlotBitmap free_;
  std::size_t search_ = 0;  // no place before this one is free
};

}  // namespace lazydp
