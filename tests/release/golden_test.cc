// Models that earlier releases wrote are still read (tests/golden). The numbers were taken from the
// file by other means: its bytes, as the safetensors format lays them out.

#include <gtest/gtest.h>

#include <numeric>

#include "lazydp/export/safetensors.h"
#include "lazydp/release/release.h"

namespace lazydp {
namespace {

const std::string kModel = LAZYDP_GOLDEN "/model-0.1";

TEST(GoldenModel, ItsCardIsReadAndVerified) {
  const Json card = verified_card(kModel);
  EXPECT_EQ(card["format"], "lazydp-card");
  EXPECT_EQ(card["version"], 1);
  EXPECT_EQ(card["claim"]["statement"], "no privacy claim");
  EXPECT_EQ(card["plan"]["algorithm"], "lazydp");
  EXPECT_EQ(card["ledger"][0]["steps"], 3);
  EXPECT_EQ(card["model"]["table_rows"], Json({6, 9}));
}

TEST(GoldenModel, ItsWeightsAreWhatTheyWere) {
  const SafetensorsFile file(kModel + "/model.safetensors");
  const auto read = [&](const std::string& name, std::size_t count) {
    std::vector<float> values(count);
    file.read(name, values);
    return values;
  };
  EXPECT_EQ(file.tensors().size(), 10u);
  const std::vector<float> first = read("tables.0.weight", 12);
  EXPECT_FLOAT_EQ(first[0], 0.248382643f);
  EXPECT_FLOAT_EQ(first[11], 0.257314384f);
  const std::vector<float> second = read("tables.1.weight", 18);
  EXPECT_NEAR(std::accumulate(second.begin(), second.end(), 0.0), -0.80096817, 1e-7);
  EXPECT_FLOAT_EQ(read("bottom.0.weight", 39)[38], 0.26960808f);
  EXPECT_FLOAT_EQ(read("top.2.bias", 1)[0], 0.565825582f);
}

}  // namespace
}  // namespace lazydp
