#include "lazydp/embedding/storage/row_file.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>

#include "lazydp/base/error.h"
#include "lazydp/embedding/storage/table_files.h"
#include "tests/support/temporary_folder.h"

namespace lazydp {
namespace {

constexpr RowId kRows = 300;
constexpr std::size_t kDim = 5;

void first_values(RowId row, std::span<float> values) {
  for (std::size_t j = 0; j < values.size(); ++j) {
    values[j] = static_cast<float>(row) + 0.125f * static_cast<float>(j);
  }
}

RowFile open_in(const TemporaryFolder& folder) {
  return {(folder / "table").string(), 0, kRows, kDim, GrowingFile::Name::kept};
}

// The rows that a table should hold: first values unless a test wrote others.
using Rows = std::map<RowId, float>;

void expect_rows(const RowFile& file, const Rows& rows) {
  std::vector<float> all(kRows * kDim);
  file.copy(0, all);
  std::vector<float> expected(kDim);
  for (RowId row = 0; row < kRows; ++row) {
    first_values(row, expected);
    const auto found = rows.find(row);
    if (found != rows.end()) std::ranges::fill(expected, found->second);
    const auto at = static_cast<std::size_t>(row) * kDim;
    ASSERT_TRUE(std::ranges::equal(std::span(all).subspan(at, kDim), expected)) << row;
  }
}

TEST(RowFile, MakesARowWhenItIsFirstNeededAndNoOther) {
  const TemporaryFolder folder;
  RowFile file = open_in(folder);
  file.clear(first_values);
  const std::vector<RowId> ids = {7, 299, 7, 0};
  file.prepare(ids);
  EXPECT_EQ(file.held(), 3);
  EXPECT_TRUE(file.holds(299));
  EXPECT_FALSE(file.holds(1));
  EXPECT_EQ(file.table().row(299)[2], 299.25f);
  EXPECT_EQ(file.table().place(7), 0u);
  EXPECT_EQ(file.table().place(0), 2u);
  expect_rows(file, {});
}

// Whatever is written, saved, lost and gone back to, the rows are those of a map.
TEST(RowFile, GoesBackToEitherOfTheLastTwoEpochsWhateverCameAfter) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const TemporaryFolder folder;
    std::mt19937 rng(seed);
    auto file = std::make_unique<RowFile>(open_in(folder));
    file->clear(first_values);
    struct PersistentRun {
      std::uint32_t epoch;
      RowId held;
      std::uint64_t seal;
      Rows rows;
    };
    std::vector<PersistentRun> kept = {{0, 0, 0, {}}};
    std::uint32_t epoch = 1;
    Rows rows;
    for (int round = 0; round < 60; ++round) {
      for (unsigned n = rng() % 40; n > 0; --n) {
        const std::vector<RowId> ids = {static_cast<RowId>(rng() % kRows)};
        file->prepare(ids);
        const auto value = static_cast<float>(rng() % 100000);
        std::ranges::fill(file->table().row(ids[0]), value);
        rows[ids[0]] = value;
      }
      if (rng() % 3 == 0) {
        file->flush();
        kept.push_back({epoch++, file->held(), file->seal(), rows});
        if (kept.size() > 2) kept.erase(kept.begin());
        file->end_epoch();
      } else if (rng() % 3 == 0) {
        if (kept.size() > 1 && rng() % 2 == 0) kept.pop_back();
        file = std::make_unique<RowFile>(open_in(folder));  // the program ended here
        file->go_back(kept.back().epoch, kept.back().held, kept.back().seal, first_values);
        file->forget_later();
        rows = kept.back().rows;
        epoch = kept.back().epoch + 1;
      }
      expect_rows(*file, rows);
    }
    EXPECT_LE(file->held(), kRows);
  }
}

// Every row is needed in every epoch, and the program ends in each.
TEST(RowFile, TakesThreePlacesARowHoweverOftenItGoesBack) {
  const TemporaryFolder folder;
  std::vector<RowId> all(kRows);
  std::iota(all.begin(), all.end(), RowId{0});
  { open_in(folder).clear(first_values); }
  RowId held = 0;
  std::uint64_t seal = 0;
  for (std::uint32_t epoch = 0; epoch < 20; ++epoch) {
    RowFile file = open_in(folder);
    file.go_back(epoch, held, seal, first_values);
    file.forget_later();
    file.prepare(all);
    file.flush();
    file.end_epoch();
    held = file.held();
    seal = file.seal();
    expect_rows(file, {});
    file.prepare(all);  // lost
  }
}

// However long a run is, the size of the slots' bookkeeping depends on how many there are, and rows
// that are needed together lie together again, as soon as there are free slots side by side.
TEST(RowFile, TakesThePlacesThatAreFreeInTheOrderOfTheFile) {
  const TemporaryFolder folder;
  RowFile file = open_in(folder);
  file.clear(first_values);
  std::vector<RowId> all(kRows);
  std::iota(all.begin(), all.end(), RowId{0});
  std::mt19937 rng(5);
  for (int epoch = 0; epoch < 30; ++epoch) {
    std::ranges::shuffle(all, rng);
    file.prepare(all);
    for (std::size_t i = 1; i < all.size(); ++i) {
      ASSERT_EQ(file.table().place(all[i]), file.table().place(all[i - 1]) + 1) << epoch;
    }
    ASSERT_EQ(file.table().place(all[0]), static_cast<std::size_t>(epoch % 3) * kRows);
    file.flush();
    file.end_epoch();
  }
}

// Two epochs: rows 3, 1, 4, then 1 and 5 anew, so that row 1 has an older place as well.
class DamagedRowFile : public testing::Test {
 protected:
  DamagedRowFile() {
    RowFile file = open_in(folder_);
    file.clear(first_values);
    for (const std::vector<RowId>& ids : {std::vector<RowId>{3, 1, 4}, std::vector<RowId>{1, 5}}) {
      file.prepare(ids);
      for (const RowId id : ids) file.table().row(id)[1] += 1000.0f;
      file.flush();
      file.end_epoch();
    }
    seal_ = file.seal();
    file.copy(0, rows_);
  }

  // Puts these bytes into a file, and tells whether going back to the second epoch then fails. If
  // it does not, the table must be what it was.
  bool noticed(const char* name, const std::string& bytes) {
    folder_.write(name, bytes);
    RowFile file = open_in(folder_);
    try {
      file.go_back(2, 4, seal_, first_values);
    } catch (const IoError&) {
      return true;
    }
    std::vector<float> rows(rows_.size());
    file.copy(0, rows);
    EXPECT_EQ(rows, rows_) << name;
    return false;
  }

  TemporaryFolder folder_;
  std::uint64_t seal_ = 0;
  std::vector<float> rows_ = std::vector<float>(kRows * kDim);
};

TEST_F(DamagedRowFile, EveryBitThatMattersIsNoticedWhenItGoesBack) {
  constexpr std::size_t kPlaces = 5, kOldPlace = 1;
  const auto flip = [&](const char* name, std::size_t each, bool old_may_rot) {
    const std::string whole = contents(folder_ / name);
    for (std::size_t bit = 0; bit < kPlaces * each * 8; ++bit) {
      std::string bytes = whole;
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
      const bool old = bit / 8 / each == kOldPlace;
      const bool seen = noticed(name, bytes);
      EXPECT_TRUE(seen || (old && old_may_rot)) << name << " bit " << bit;
    }
    EXPECT_FALSE(noticed(name, whole));
  };
  flip("table.rows", kDim * sizeof(float), true);
  flip("table.index", sizeof(RowRecord), true);
}

TEST_F(DamagedRowFile, ACutFileOrAnotherTableIsNoticed) {
  const std::string index = contents(folder_ / "table.index");
  EXPECT_TRUE(noticed("table.index", ""));
  EXPECT_FALSE(noticed("table.index", index));
  RowFile file = open_in(folder_);
  EXPECT_THROW(file.go_back(2, 5, seal_, first_values), IoError);
  EXPECT_THROW(file.go_back(2, 4, seal_ + 1, first_values), IoError);
  EXPECT_THROW(file.go_back(1, 3, seal_, first_values), IoError);
}

// A row in another's place, and a row as it was an epoch before: entries and rows are whole, only
// not where or when they were.
TEST_F(DamagedRowFile, EntriesThatMovedAndRowsThatAgedAreNoticed) {
  std::string index = contents(folder_ / "table.index");
  const std::string rows = contents(folder_ / "table.rows");
  constexpr std::size_t kEntry = sizeof(RowRecord), kRow = kDim * sizeof(float);
  std::string swapped = index, swapped_rows = rows;
  std::swap_ranges(swapped.begin(), swapped.begin() + kEntry, swapped.begin() + 2 * kEntry);
  std::swap_ranges(swapped_rows.begin(), swapped_rows.begin() + kRow,
                   swapped_rows.begin() + 2 * kRow);
  folder_.write("table.rows", swapped_rows);
  EXPECT_TRUE(noticed("table.index", swapped));
  folder_.write("table.rows", rows);
  index.replace(3 * kEntry, kEntry, kEntry, '\0');  // row 1's newer place: the older one is left
  EXPECT_TRUE(noticed("table.index", index));
}

// Rows may rot while a run goes on, too: they are compared when they are next needed.
TEST(RowFile, ARowThatRotsIsNoticedBeforeItIsUsed) {
  const TemporaryFolder folder;
  RowFile file = open_in(folder);
  file.clear(first_values);
  const std::vector<RowId> ids = {3, 1, 4};
  file.prepare(ids);
  file.flush();
  file.end_epoch();
  file.table().row(1)[4] = -1.0f;
  const std::vector<RowId> good = {3}, bad = {1};
  file.prepare(good);
  EXPECT_THROW(file.prepare(bad), IoError);
  std::vector<float> all(kRows * kDim);
  EXPECT_THROW(file.copy(0, all), IoError);
}

TEST(TableFiles, WithoutARunLeaveNothingBehind) {
  const TemporaryFolder folder;
  const std::vector<RowId> rows = {10, 20};
  {
    TableFiles files((folder / "tables").string(), std::nullopt, rows, 4);
    files.start(files.first_weights(Seed::fixed(1)));
    EXPECT_TRUE(std::filesystem::is_empty(folder / "tables"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder / "tables"));
}

TEST(TableFiles, BelongToOneRunAndOneProcess) {
  const TemporaryFolder folder;
  const std::vector<RowId> rows = {10, 20};
  const std::string path = (folder / "tables").string();
  TablePlaces places;
  {
    TableFiles files(path, "run a", rows, 4);
    files.start(files.first_weights(Seed::fixed(1)));
    places = files.keep();
    files.end_epoch();
    EXPECT_THROW(TableFiles(path, "run a", rows, 4), UserError) << "it is in use";
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      EXPECT_EQ(entry.status().permissions() & std::filesystem::perms(077),
                std::filesystem::perms::none)
          << entry.path();
    }
  }
  {
    TableFiles other(path, "run b", rows, 4);
    EXPECT_THROW(other.start(other.first_weights(Seed::fixed(1))), UserError);
    places.id += "x";
    EXPECT_THROW(other.go_back(places, other.first_weights(Seed::fixed(1))), UserError);
  }
  folder.write("photo", "x");
  EXPECT_THROW(TableFiles(folder.path().string(), "run a", rows, 4), UserError);
  EXPECT_THROW(TableFiles((folder / "photo").string(), "run a", rows, 4), UserError);
}

}  // namespace
}  // namespace lazydp
