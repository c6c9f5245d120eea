// Lines that are no examples leave holes: a line that is blanked, or cannot be read, moves no
// other.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/data/split.h"
#include "lazydp/data/stream.h"
#include "tests/data/converting.h"
#include "tests/data/file_fixture.h"

namespace lazydp {
namespace {

class Holes : public Converting {
 protected:
  // Lines that can be told apart by their bucket of time.
  static std::vector<std::string> lines(int count) {
    std::vector<std::string> all;
    all.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      all.push_back("u" + std::to_string(i % 37) + "," + std::to_string(i) + ",a,yes,3");
    }
    return all;
  }
  std::shared_ptr<const DataFile> converted(const std::vector<std::string>& all) const {
    std::string text;
    for (const std::string& line : all) text += line + "\n";
    std::filesystem::remove(folder_ / "out");
    run(text, all.size());
    return std::make_shared<const DataFile>(path("out"));
  }
};

TEST_F(Holes, AreWhereLinesWereLeftOut) {
  const auto file = converted({"", "u1,1,a,yes,3", "bad", "", "u2,2,a,no,3", "u3,3,a,no,3", ""});
  EXPECT_EQ(file->header().version, kFileVersionWithHoles);
  EXPECT_EQ(file->size(), 3u);
  EXPECT_EQ(file->places(), 7u);
  EXPECT_EQ(file->place_of(0), 1u);
  EXPECT_EQ(file->place_of(1), 4u);
  EXPECT_EQ(file->place_of(2), 5u);
  const std::vector<ExampleId> before = {0, 0, 1, 1, 1, 2, 3, 3};
  for (std::uint64_t place = 0; place < before.size(); ++place) {
    EXPECT_EQ(file->examples_before(place), before[place]) << place;
  }
  file->check_all_pages();
}

TEST_F(Holes, AFileWithoutThemIsWhatItWas) {
  const auto file = converted(lines(10));
  EXPECT_EQ(file->header().version, kFileVersion);
  EXPECT_EQ(file->places(), 10u);
  EXPECT_EQ(file->place_of(7), 7u);
  EXPECT_EQ(file->examples_before(7), 7u);
}

TEST_F(Holes, AHeaderIsNoPlace) {
  schema_.header = true;
  const auto file = converted({"user,age,tags,y,time", "u1,1,a,yes,3", "", "u2,2,a,no,3"});
  EXPECT_EQ(file->places(), 3u);
  EXPECT_EQ(file->place_of(1), 2u);
}

TEST_F(Holes, CountOverInputsAndBlocks) {
  std::string text;
  for (int i = 0; i < 700'000; ++i) text += "alice,1,a,yes,3\n";
  folder_.write("first", text + "bad\n" + text);
  folder_.write("second", "alice,1,a,yes,3\nworse\nalice,1,a,yes,3\n");
  convert({.inputs = {path("first"), path("second")},
           .output = path("out"),
           .schema = schema_,
           .max_bad_lines = 5});
  const DataFile file(path("out"));
  EXPECT_EQ(file.places(), 1'400'004u);
  EXPECT_EQ(file.place_of(699'999), 699'999u);
  EXPECT_EQ(file.place_of(700'000), 700'001u);
  EXPECT_EQ(file.place_of(1'400'001), 1'400'003u);
}

// Which step of a stream, and which side of a split, each of the lines is on that are left.
struct Where {
  std::uint64_t step = 0;
  bool held_out = false;

  bool operator==(const Where&) const = default;
};

std::map<int, Where> where(const std::shared_ptr<const DataFile>& file, bool by_key) {
  const SplitShares shares{.validation = 0.0, .test = 0.3};
  const Split split = by_key ? split_by_key(file, 0, shares) : split_by_position(file, shares);
  std::map<int, Where> all;
  const auto age = [&](const Part& part, ExampleId i) {
    Batch batch;
    part.read(std::vector<ExampleId>{i}, batch);
    return static_cast<int>(std::lround(std::expm1(double{batch.dense.row(0)[0]})));
  };
  const Windows windows(*split.train, 11);
  for (ExampleId i = 0; i < split.train->size(); ++i) {
    all[age(*split.train, i)] = {windows.window_of(i) + 1, false};
  }
  for (ExampleId i = 0; i < split.test->size(); ++i) all[age(*split.test, i)] = {0, true};
  return all;
}

TEST_F(Holes, ALineThatIsBlankedMovesNoOther) {
  constexpr int kLines = 300;
  for (const bool by_key : {false, true}) {
    const auto all = where(converted(lines(kLines)), by_key);
    ASSERT_EQ(all.size(), static_cast<std::size_t>(kLines));
    for (const int missing : {0, 5, 64, 150, kLines - 1}) {
      for (const char* left : {"", "u1,1,a,perhaps,3"}) {
        std::vector<std::string> neighbours = lines(kLines);
        neighbours[static_cast<std::size_t>(missing)] = left;
        auto expected = all;
        expected.erase(missing);
        EXPECT_EQ(where(converted(neighbours), by_key), expected) << missing << left;
      }
    }
  }
}

TEST_F(Holes, DamageToThemIsFound) {
  const auto file = converted({"u1,1,a,yes,3", "", "u2,2,a,no,3"});
  const std::string whole = contents(path("out"));
  const std::size_t page = file->header().page_bytes;
  for (const std::size_t at :
       {whole.size() - page, whole.size() - page + 8, whole.size() - page + sizeof(PageHeader)}) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    folder_.write("out", damaged);
    EXPECT_THROW(DataFile(path("out")), IoError) << at;
  }
  folder_.write("out", whole.substr(0, whole.size() - page));
  EXPECT_THROW(DataFile(path("out")), IoError);
}

}  // namespace
}  // namespace lazydp
