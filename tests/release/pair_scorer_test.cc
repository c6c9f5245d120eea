// Scoring pairs gives each pair the logit that it has as an example of its own.

#include "lazydp/release/pair_scorer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "lazydp/export/export_weights.h"
#include "lazydp/release/best_items.h"
#include "lazydp/release/card.h"
#include "tests/support/small_world.h"
#include "tests/support/temporary_folder.h"

namespace lazydp {
namespace {

// A model with random weights, as a release would have written it.
class RandomModel {
 public:
  explicit RandomModel(const ModelShape& shape) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal(0.0f, 0.5f);
    std::vector<std::vector<float>> values;
    std::vector<TensorSource> tensors;
    const auto add = [&](const std::string& name, const std::vector<std::size_t>& sizes) {
      std::vector<float>& weights = values.emplace_back(
          std::accumulate(sizes.begin(), sizes.end(), std::size_t{1}, std::multiplies<>()));
      std::ranges::generate(weights, [&] { return normal(random); });
      tensors.push_back({.name = name, .shape = sizes});
    };
    for (const NamedTensor& tensor : make_model(shape)->layout()) add(tensor.name, tensor.shape);
    for (std::size_t k = 0; k < shape.tables(); ++k) {
      add(table_name(k), {static_cast<std::size_t>(shape.table_rows[k]), shape.dim});
    }
    for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].values = values[i];
    write_safetensors(folder_.path().string() + kWeights, tensors, {});
    model_ = std::make_unique<LoadedModel>(folder_.path().string(), shape);
  }
  LoadedModel& operator*() { return *model_; }

 private:
  TemporaryFolder folder_;
  std::unique_ptr<LoadedModel> model_;
};

Batch examples_of(const ModelShape& shape, std::size_t count, unsigned seed) {
  std::vector<ExampleId> all(count);
  std::iota(all.begin(), all.end(), ExampleId{0});
  Batch batch;
  oracle::MadeUpData(shape, count, seed).read(all, batch);
  return batch;
}

// The example that a pair is, put together value by value.
float logit_of_pair(LoadedModel& model, const UserPart& part, const Batch& users, std::size_t u,
                    const Batch& items, std::size_t i) {
  Batch pair;
  pair.size = 1;
  pair.labels = {0.0f};
  pair.dense.reshape(1, part.dense.size());
  for (std::size_t k = 0; k < part.dense.size(); ++k) {
    pair.dense.row(0)[k] = part.dense[k] ? users.dense.row(u)[k] : items.dense.row(i)[k];
  }
  for (std::size_t k = 0; k < part.tables.size(); ++k) {
    const auto ids = part.tables[k] ? users.bags[k].of(u) : items.bags[k].of(i);
    pair.bags.push_back(
        {.offsets = {0, ids.size()}, .ids = {ids.begin(), ids.end()}, .weights = {}});
  }
  return model.predict(pair)[0];
}

class Pairs : public testing::TestWithParam<Interaction> {};

INSTANTIATE_TEST_SUITE_P(Interactions, Pairs,
                         testing::Values(Interaction::dot, Interaction::concat_dot,
                                         Interaction::linear_concat_dot));

TEST_P(Pairs, HaveTheLogitsOfTheirExamples) {
  for (const std::vector<std::size_t>& top : {std::vector<std::size_t>{1}, {6, 1}, {6, 5, 1}}) {
    ModelShape shape = oracle::small_shape({30, 6, 50, 20}, Pooling::mean);
    shape.interaction = GetParam();
    shape.top = top;
    RandomModel model(shape);
    const Batch users = examples_of(shape, 3, 1);
    const Batch items = examples_of(shape, 600, 2);  // more than two blocks
    const bool u = true;
    const bool i = false;
    for (const UserPart& part : {UserPart{{u, u, u}, {u, i, u, i}},
                                 {{i, i, i}, {u, i, u, i}},
                                 {{i, i, i}, {i, i, i, u}},
                                 {{u, u, u}, {u, u, u, u}},
                                 {{i, i, i}, {i, i, i, i}},
                                 {{u, i, u}, {u, i, u, i}}}) {
      const auto scorer = make_pair_scorer(*model, part, items);
      scorer->set_users(users);
      Matrix logits(2, items.size);
      scorer->score(1, logits.view());
      for (std::size_t row = 0; row < 2; ++row) {
        for (std::size_t k = 0; k < items.size; k += 37) {
          const float expected = logit_of_pair(*model, part, users, row + 1, items, k);
          EXPECT_NEAR(logits.row(row)[k], expected, 1e-5f * (1.0f + std::abs(expected)));
        }
      }
    }
  }
}

TEST(BestItems, AreTheBestInOrderWithoutTheSeenOnes) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> logits = {0.5f, nan, 2.0f, -1.0f, 2.0f, 0.7f};
  const auto items = [&](std::size_t count, const std::unordered_set<std::uint32_t>& seen) {
    std::vector<std::uint32_t> found;
    for (const Ranked& item : best_items(logits, count, seen)) found.push_back(item.item);
    return found;
  };
  using Items = std::vector<std::uint32_t>;
  EXPECT_EQ(items(3, {}), (Items{2, 4, 5}));
  EXPECT_EQ(items(3, {2, 5}), (Items{4, 0, 3}));
  EXPECT_EQ(items(9, {}), (Items{2, 4, 5, 0, 3, 1}));
  EXPECT_EQ(items(2, {0, 1, 2, 3, 4, 5}), Items());
}

}  // namespace
}  // namespace lazydp
