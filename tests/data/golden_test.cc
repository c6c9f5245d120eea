// Data files that earlier releases wrote are still read, value by value (tests/golden).

#include <gtest/gtest.h>

#include <fstream>
#include <numeric>
#include <sstream>

#include "lazydp/data/file/data_file.h"
#include "lazydp/data/text/byte_source.h"
#include "tests/support/temporary_folder.h"

namespace lazydp {
namespace {

const std::string kGolden = LAZYDP_GOLDEN;

std::string unpack(const std::string& name, const TemporaryFolder& folder) {
  std::string path = (folder / name).string();
  std::vector<char> bytes(1 << 20);
  bytes.resize(open_source(kGolden + "/" + name + ".ldp.gz")->read(bytes));
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

// "3: label 1; dense 0.5 -1; rows 7 2,9 4": the release's own words for example 3.
struct Example {
  float label = 0.0f;
  std::vector<float> dense;
  std::vector<std::vector<RowId>> rows;
};

Example parse(std::string line) {
  Example example;
  const auto after = [&](const std::string& word) {
    const auto at = line.find(word) + word.size();
    return std::istringstream(line.substr(at, line.find(';', at) - at));
  };
  after("label ") >> example.label;
  std::istringstream dense = after("dense ");
  for (float value = 0.0f; dense >> value;) example.dense.push_back(value);
  std::istringstream rows = after("rows ");
  for (std::string bag; rows >> bag;) {
    example.rows.emplace_back();
    std::istringstream ids(bag);
    for (std::string id; std::getline(ids, id, ',');) example.rows.back().push_back(std::stoll(id));
  }
  return example;
}

class GoldenDataFile : public testing::TestWithParam<const char*> {};

TEST_P(GoldenDataFile, HoldsWhatWasWritten) {
  const TemporaryFolder folder;
  const DataFile file(unpack(GetParam(), folder));
  file.check_all_pages();
  std::vector<ExampleId> all(file.size());
  std::iota(all.begin(), all.end(), ExampleId{0});
  Batch batch;
  file.read(all, batch);

  std::ifstream words(kGolden + "/" + GetParam() + ".txt");
  std::size_t i = 0;
  for (std::string line; std::getline(words, line); ++i) {
    const Example expected = parse(line);
    ASSERT_LT(i, batch.size);
    EXPECT_EQ(batch.labels[i], expected.label) << line;
    ASSERT_EQ(batch.dense.cols(), expected.dense.size());
    for (std::size_t d = 0; d < expected.dense.size(); ++d) {
      EXPECT_NEAR(batch.dense.row(i)[d], expected.dense[d], 1e-5 * std::abs(expected.dense[d]));
    }
    ASSERT_EQ(batch.bags.size(), expected.rows.size());
    for (std::size_t k = 0; k < expected.rows.size(); ++k) {
      const auto ids = batch.bags[k].of(i);
      EXPECT_EQ(std::vector<RowId>(ids.begin(), ids.end()), expected.rows[k]) << line;
    }
  }
  EXPECT_EQ(i, batch.size);
  EXPECT_GE(i, 20u);
}

INSTANTIATE_TEST_SUITE_P(Releases, GoldenDataFile, testing::Values("uniform-0.1", "ratings-0.1"));

}  // namespace
}  // namespace lazydp
