// Converting and training on real data, where LAZYDP_DATA_DIR says that there is some.

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/cli/program.h"

namespace lazydp::cli {
namespace {

// Absolute: the program runs in a folder of its own.
std::string real_data(const std::string& path) {
  const char* folder = std::getenv("LAZYDP_DATA_DIR");
  return folder == nullptr ? "" : std::filesystem::absolute(folder).string() + path;
}

TEST(TrainOnRealData, LearnsAdultIncomePrivately) {
  const std::string adult = real_data("/adult/");
  if (adult.empty()) GTEST_SKIP() << "skipped: no LAZYDP_DATA_DIR";
  const Workplace place;
  ASSERT_EQ(place.run({"convert", "csv", "--guess", adult + "train.csv", "s.toml"}).code, 0);
  std::string schema = contents(place / "s.toml");
  const auto widen = [&](const std::string& from, const std::string& to) {
    ASSERT_NE(schema.find(from), std::string::npos) << schema;
    schema.replace(schema.find(from), from.size(), to);
  };
  // The labels of their test file end in a dot.
  widen("positive = [\">50K\"]", "positive = [\">50K\", \">50K.\"]");
  widen("negative = [\"<=50K\"]", "negative = [\"<=50K\", \"<=50K.\"]");
  place.write("s.toml", schema);
  for (const std::string part : {"train", "test"}) {
    const auto json =
        place.json({"convert", "csv", "--schema", "s.toml", adult + part + ".csv", part});
    EXPECT_EQ(json["examples"], part == "train" ? 32'561 : 16'281) << place.last().err;
    EXPECT_EQ(json["blank_lines"], 1);
  }
  const auto json = place.json({"train", "--data", "train", "--test", "test"});
  ASSERT_EQ(place.last().code, 0) << place.last().err;
  EXPECT_GT(json["auc"], 0.86);  // logistic regression without privacy reaches about 0.90
  EXPECT_LE(json["epsilon"], 8.0);
}

TEST(TrainOnRealData, ConvertsMovieRatings) {
  const std::string ratings = real_data("/movietweetings-100k/ratings.dat");
  if (ratings.empty()) GTEST_SKIP() << "skipped: no LAZYDP_DATA_DIR";
  const Workplace place;
  ASSERT_EQ(place.run({"convert", "csv", "--guess", ratings, "s.toml"}).code, 0);
  const auto json = place.json({"convert", "csv", "--schema", "s.toml", ratings, "m.ldp"});
  EXPECT_EQ(json["examples"], 100'000) << place.last().err;
  EXPECT_EQ(json["bad_lines"], 0);
}

}  // namespace
}  // namespace lazydp::cli
