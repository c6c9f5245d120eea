#include "lazydp/release/loaded_model.h"

#include <gtest/gtest.h>

#include "lazydp/release/card.h"
#include "lazydp/release/release.h"
#include "lazydp/train/evaluation.h"
#include "tests/support/runs.h"
#include "tests/support/temporary_folder.h"

namespace lazydp {
namespace {

using oracle::plan_of;
using oracle::Settings;
using oracle::World;

class Released : public testing::Test {
 protected:
  Released() : world_(settings_.shape, settings_.key, settings_.sampling_rate) {
    auto trainer = std::make_unique<Trainer>(plan_of("lazydp", settings_), Performance{},
                                             world_.seed, world_.model, settings_.shape.mode,
                                             world_.tables, world_.data, *world_.sampler);
    while (trainer->now() < settings_.steps) trainer->step();
    trainer->settle_all();
    metrics_ = evaluate(*trainer, world_.data);
    some_ = evaluate(*trainer, world_.data, 7);
    release(std::move(trainer), {.delta = 1e-5, .shape = settings_.shape}).write(folder());
  }
  std::string folder() const { return scratch_ / "model"; }

  TemporaryFolder scratch_;
  Settings settings_ = {.shape = oracle::small_shape({1, 6, 50}, Pooling::mean)};
  World world_;
  Metrics metrics_, some_;
};

TEST_F(Released, ScoresAsTheTrainerDidBitForBit) {
  const ModelShape shape = shape_on_card(verified_card(folder()));
  EXPECT_EQ(json_of(shape), json_of(settings_.shape));
  LoadedModel model(folder(), shape);
  const Scorer scorer = [&](const Batch& batch) { return model.predict(batch); };
  const Metrics again = evaluate(scorer, world_.data);
  EXPECT_EQ(again.auc, metrics_.auc);
  EXPECT_EQ(again.logloss, metrics_.logloss);
  EXPECT_EQ(again.examples, 40u);
  EXPECT_EQ(evaluate(scorer, world_.data, 7).logloss, some_.logloss);
  EXPECT_EQ(some_.examples, 7u);
  EXPECT_NE(some_.logloss, metrics_.logloss);
  std::size_t heard = 0;
  score(world_.data, scorer, [&](const Batch& batch, std::span<const float> logits) {
    EXPECT_EQ(batch.size, logits.size());
    heard += logits.size();
  });
  EXPECT_EQ(heard, 40u);
}

// A card may be as hostile as a file: no memory is taken on its word.
TEST_F(Released, ACardOfAnotherShapeIsRefused) {
  const ModelShape shape = shape_on_card(verified_card(folder()));
  ModelShape larger = shape;
  larger.table_rows[2] = RowId{1} << 39;
  EXPECT_THROW(LoadedModel(folder(), larger), UserError);
  ModelShape swapped = shape;  // as many floats, in other places
  std::swap(swapped.table_rows[0], swapped.table_rows[2]);
  EXPECT_THROW(LoadedModel(folder(), swapped), UserError);
  for (const char* card : {R"({})", R"({"model":3})", R"({"model":{"name":"x","dim":"four"}})"}) {
    EXPECT_THROW(shape_on_card(Json::parse(card)), UserError) << card;
  }
  Json broken = verified_card(folder());
  broken["model"]["dim"] = 0;
  EXPECT_THROW(shape_on_card(broken), UserError);
}

}  // namespace
}  // namespace lazydp
