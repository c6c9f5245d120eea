#include "lazydp/embedding/row_file.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "lazydp/base/error.h"
#include "lazydp/embedding/table_files.h"
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

// What a table should hold: first values where nobody wrote.
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

// Whatever is written, kept, lost and gone back to: the rows are those of a map.
TEST(RowFile, GoesBackToEitherOfTheLastTwoEpochsWhateverCameAfter) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const TemporaryFolder folder;
    std::mt19937 rng(seed);
    auto file = std::make_unique<RowFile>(open_in(folder));
    file->clear(first_values);
    struct Kept {
      std::uint32_t epoch;
      RowId held;
      Rows rows;
    };
    std::vector<Kept> kept = {{0, 0, {}}};
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
        kept.push_back({epoch++, file->held(), rows});
        if (kept.size() > 2) kept.erase(kept.begin());
        file->end_epoch();
      } else if (rng() % 3 == 0) {
        if (kept.size() > 1 && rng() % 2 == 0) kept.pop_back();
        file = std::make_unique<RowFile>(open_in(folder));  // the program ended here
        file->go_back(kept.back().epoch, kept.back().held, first_values);
        rows = kept.back().rows;
        epoch = kept.back().epoch + 1;
      }
      expect_rows(*file, rows);
    }
    EXPECT_LE(file->held(), kRows);
  }
}

TEST(RowFile, ADamagedIndexIsNoticed) {
  const TemporaryFolder folder;
  std::vector<RowId> ids = {3, 1, 4};
  {
    RowFile file = open_in(folder);
    file.clear(first_values);
    file.prepare(ids);
    file.flush();
    file.end_epoch();
  }
  const std::string whole = contents(folder / "table.index");
  for (const std::size_t byte : {0u, 9u, 13u, 20u, 40u}) {
    std::string damaged = whole;
    damaged[byte] = static_cast<char>(damaged[byte] ^ 1);
    folder.write("table.index", damaged);
    RowFile file = open_in(folder);
    EXPECT_THROW(file.go_back(1, 3, first_values), IoError) << byte;
  }
  folder.write("table.index", whole.substr(0, 0));
  RowFile cut = open_in(folder);
  EXPECT_THROW(cut.go_back(1, 3, first_values), IoError);
  folder.write("table.index", whole);
  RowFile whole_again = open_in(folder);
  EXPECT_THROW(whole_again.go_back(1, 4, first_values), IoError);
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
