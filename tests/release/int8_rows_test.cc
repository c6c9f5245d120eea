// Tables in eight bits a weight: what rounding moves, and that the claim stays.

#include "lazydp/release/int8_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "lazydp/base/error.h"
#include "lazydp/base/io/folder.h"
#include "lazydp/release/card.h"
#include "lazydp/release/loaded_model.h"
#include "lazydp/release/release.h"
#include "tests/support/runs.h"
#include "tests/support/temporary_folder.h"

namespace lazydp {
namespace {

TEST(Int8Rows, MoveNoWeightByMoreThanHalfAStep) {
  constexpr std::size_t kDim = 7;
  std::mt19937 rng(2);
  std::normal_distribution<float> normal;
  std::vector<float> weights(50 * kDim);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = normal(rng) * std::pow(10.0f, static_cast<float>(i / kDim % 9) - 4.0f);
  }
  std::fill_n(weights.begin(), kDim, 0.0f);  // a row of zeros stays one
  const Int8Rows rows = int8_rows(weights, kDim);
  std::vector<float> back(weights.size());
  scale_rows(rows.values, rows.scales, back);
  for (std::size_t r = 0; r < 50; ++r) {
    float most = 0.0f;
    for (std::size_t i = r * kDim; i < (r + 1) * kDim; ++i) {
      most = std::max(most, std::abs(weights[i]));
    }
    for (std::size_t i = r * kDim; i < (r + 1) * kDim; ++i) {
      EXPECT_LE(std::abs(back[i] - weights[i]), most / 127.0f * 0.5001f) << r;
    }
  }
  EXPECT_EQ(back[0], 0.0f);
}

TEST(Int8Rows, ARowThatIsNotFiniteStaysSo) {
  const Int8Rows rows = int8_rows(std::vector<float>{1, NAN, 2, 3, INFINITY, 1, 1, 2, 3}, 3);
  std::vector<float> back(9);
  scale_rows(rows.values, rows.scales, back);
  EXPECT_TRUE(std::isnan(back[0]));
  EXPECT_TRUE(std::isnan(back[4]));
  EXPECT_NEAR(back[7], 2.0f, 0.02f);
}

class RoundedModel : public testing::Test {
 protected:
  RoundedModel() {
    oracle::Settings settings;
    settings.shape = oracle::small_shape({1, 6, 500});
    oracle::World world(settings.shape, settings.key, settings.sampling_rate);
    auto trainer = std::make_unique<Trainer>(oracle::plan_of("lazydp", settings), Performance{},
                                             world.seed, world.model, settings.shape.mode,
                                             world.tables, world.data, *world.sampler);
    while (trainer->now() < settings.steps) trainer->step();
    release(std::move(trainer), {.delta = 1e-5, .shape = settings.shape}).write(model());
    sizes_ = write_with_int8_rows(model(), rounded());
  }
  std::string model() const { return scratch_ / "model"; }
  std::string rounded() const { return scratch_ / "rounded"; }

  TemporaryFolder scratch_;
  Int8Sizes sizes_;
};

TEST_F(RoundedModel, HasTheClaimAndNearlyTheWeights) {
  const Json before = verified_card(model());
  const Json after = verified_card(rounded());
  EXPECT_EQ(after["claim"], before["claim"]);
  EXPECT_EQ(after["ledger"], before["ledger"]);
  EXPECT_EQ(after["rows"]["rounded_from"], before["weights"]["blake2b_256"]);
  EXPECT_LT(sizes_.bytes_after, sizes_.bytes_before);

  const ModelShape shape = shape_on_card(after);
  const LoadedModel whole(model(), shape), small(rounded(), shape);
  EXPECT_TRUE(std::ranges::equal(small.parameters(), whole.parameters())) << "MLPs are not rounded";
  for (std::size_t k = 0; k < shape.tables(); ++k) {
    for (RowId r = 0; r < shape.table_rows[k]; ++r) {
      const auto row = whole.table(k).row(r), of_small = small.table(k).row(r);
      float most = 0.0f;
      for (const float w : row) most = std::max(most, std::abs(w));
      for (std::size_t i = 0; i < row.size(); ++i) {
        EXPECT_NEAR(of_small[i], row[i], most / 254.0f * 1.001f);
      }
    }
  }
}

TEST_F(RoundedModel, IsRefusedWhereItHasNoPlace) {
  EXPECT_THROW(write_with_int8_rows(rounded(), scratch_ / "twice"), UserError);
  EXPECT_THROW(write_with_int8_rows(model(), rounded()), UserError) << "the folder holds something";
  EXPECT_FALSE(exists(scratch_ / "twice"));
  // An edited scale is noticed, as an edited weight is.
  std::string file = contents(scratch_ / "rounded/model.safetensors");
  file.back() = static_cast<char>(file.back() ^ 1);
  scratch_.write("rounded/model.safetensors", file);
  EXPECT_THROW(verified_card(rounded()), PrivacyError);
}

}  // namespace
}  // namespace lazydp
