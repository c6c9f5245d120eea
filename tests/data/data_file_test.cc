// A data file returns what was written, example by example, and detects all damage.

#include "lazydp/data/file/data_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "lazydp/base/error.h"
#include "tests/data/file_fixture.h"
#include "tests/support/temporary_folder.h"

namespace lazydp {
namespace {

void expect_example(const Batch& batch, std::size_t place, const PlainExample& want) {
  EXPECT_EQ(batch.labels[place], want.label);
  EXPECT_TRUE(std::ranges::equal(batch.dense.row(place), want.dense));
  std::vector<std::vector<std::uint32_t>> bags = {{want.ids[0]}, {want.ids[1]}};
  if (!want.many.empty()) bags.insert(bags.begin() + 1, want.many[0]);
  ASSERT_EQ(batch.bags.size(), bags.size());
  for (std::size_t k = 0; k < bags.size(); ++k) {
    EXPECT_TRUE(std::ranges::equal(batch.bags[k].of(place), bags[k])) << "table " << k;
  }
}

class EveryDataFile : public testing::TestWithParam<bool> {
 protected:
  std::string file(std::uint64_t examples) const {
    std::string path = (folder_ / "a").string();
    write_plain_file(path, examples, GetParam());
    return path;
  }
  void replace(const std::string& bytes) const { folder_.write("a", bytes); }

  TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(FixedAndVariable, EveryDataFile, testing::Bool());

TEST_P(EveryDataFile, GivesBackEveryExampleInAnyOrder) {
  constexpr std::uint64_t kExamples = 5000;  // dozens of pages
  for (const std::uint64_t memory : {std::uint64_t{0}, ~std::uint64_t{0}}) {
    const DataFile data(file(kExamples), memory);
    ASSERT_EQ(data.size(), kExamples);
    EXPECT_GT(data.header().pages, 20u);
    EXPECT_EQ(data.header().positives, (kExamples + 2) / 3);
    std::vector<ExampleId> order(kExamples);
    std::iota(order.begin(), order.end(), ExampleId{0});
    std::ranges::shuffle(order, std::mt19937_64(1));
    order.push_back(order.front());  // twice in a batch
    Batch batch;
    data.read(order, batch);
    for (std::size_t i = 0; i < order.size(); ++i) {
      expect_example(batch, i, plain_example(order[i], GetParam()));
    }
    for (ExampleId i = 0; i < kExamples; ++i) ASSERT_EQ(data.key_of(i, 0), i / 4 + 1);
    data.check_all_pages();
  }
}

TEST_P(EveryDataFile, MayBeEmptyOrHoldOneExample) {
  Batch batch;
  EXPECT_EQ(DataFile(file(0)).size(), 0u);
  const DataFile data(file(1));
  const ExampleId only = 0;
  data.read({&only, 1}, batch);
  expect_example(batch, 0, plain_example(0, GetParam()));
  data.read({}, batch);
  EXPECT_EQ(batch.size, 0u);
}

TEST_P(EveryDataFile, KeepsItsSchema) {
  const DataFile data(file(10));
  ASSERT_EQ(data.schema().columns.size(), GetParam() ? 6u : 5u);
  EXPECT_EQ(data.schema().columns[2].name, "u");
  EXPECT_TRUE(data.schema().columns[2].key);
  EXPECT_EQ(data.dense_features(), 2u);
  EXPECT_EQ(data.table_rows(),
            GetParam() ? (std::vector<RowId>{100, 50, 7}) : (std::vector<RowId>{100, 7}));
}

// Every byte of the file is covered by a checksum or a comparison: whichever is changed, a reader
// of the whole file notices.
TEST_P(EveryDataFile, NoticesAnyChangedByte) {
  const std::string whole = contents(file(400));
  std::mt19937_64 random(2);
  for (int i = 0; i < 400; ++i) {
    std::string bytes = whole;
    const std::size_t place = i < 72 ? static_cast<std::size_t>(i) : random() % bytes.size();
    bytes[place] = static_cast<char>(bytes[place] ^ (1 << random() % 8));
    replace(bytes);
    EXPECT_ANY_THROW(DataFile((folder_ / "a").string()).check_all_pages()) << "byte " << place;
  }
}

TEST_P(EveryDataFile, NoticesThatItWasCutOrExtended) {
  const std::string whole = contents(file(400));
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{71}, std::size_t{72},
                                 std::size_t{4095}, std::size_t{4096}, whole.size() - 4096,
                                 whole.size() - 1, whole.size() + 1, whole.size() + 4096}) {
    std::string bytes = whole;
    bytes.resize(size);
    replace(bytes);
    EXPECT_ANY_THROW(DataFile((folder_ / "a").string())) << size << " bytes";
  }
}

TEST_P(EveryDataFile, NoticesSwappedPages) {
  std::string bytes = contents(file(400));
  std::swap_ranges(bytes.begin() + 4096, bytes.begin() + 8192, bytes.begin() + 8192);
  replace(bytes);
  EXPECT_THROW(DataFile((folder_ / "a").string()).check_all_pages(), IoError);
}

// An attacker that can compute checksums can write anything: no bad value may reach a batch even
// then.
TEST_P(EveryDataFile, LetsNoImpossibleExampleOutEvenIfChecksumsAreRight) {
  const Schema schema = plain_schema(GetParam());
  std::vector<PlainExample> impossible(6, plain_example(4, GetParam()));
  impossible[0].label = 0.5f;
  impossible[1].dense[1] = std::numeric_limits<float>::quiet_NaN();
  impossible[2].ids[0] = 100;
  impossible[3].ids[1] = 0xffffffffu;
  if (GetParam()) {
    impossible[4].many[0].back() = 50;
  } else {
    impossible[4].label = -1.0f;
  }
  impossible[5].dense[0] = static_cast<float>(-2.0 * kLargestDense);
  for (const PlainExample& bad : impossible) {
    Records records{RecordLayout(schema)};
    add(records, plain_example(1, GetParam()));
    add(records, bad);
    DataFileWriter writer((folder_ / "a").string(), schema, kMinPageBytes);
    writer.append(records);
    writer.commit();
    const DataFile data((folder_ / "a").string());
    Batch batch;
    const ExampleId neighbour = 0;
    EXPECT_THROW(data.read({&neighbour, 1}, batch), IoError);
  }
}

TEST(DataFile, SaysWhatIsNotADataFile) {
  const TemporaryFolder folder;
  folder.write("text", std::string(10000, 'x'));
  EXPECT_THROW(DataFile((folder / "text").string()), UserError);
  EXPECT_THROW(DataFile((folder / "none").string()), IoError);
  EXPECT_THROW(DataFile(folder.path().string()), IoError);
}

TEST(DataFileWriter, LeavesNothingUncommitted) {
  const TemporaryFolder folder;
  { DataFileWriter writer((folder / "a").string(), plain_schema(false), kMinPageBytes); }
  EXPECT_TRUE(folder.files().empty());
}

}  // namespace
}  // namespace lazydp
