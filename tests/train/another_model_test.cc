// The loop knows only the interface of a model: one that is no DLRM is trained as any other.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "lazydp/model/loss.h"
#include "lazydp/model/model.h"
#include "tests/support/runs.h"

namespace lazydp {
namespace {

using oracle::plan_of;
using oracle::Settings;
using oracle::World;

// Logistic regression: a weight for each dense feature, a bias, and the sum of all pooled vectors.
class LogisticRegression final : public Model {
 public:
  explicit LogisticRegression(const ModelShape& shape)
      : weights_(shape.dense_features() + 1),
        pooled_(shape.tables()),
        dim_(shape.dim),
        pooled_gradients_(shape.tables()) {}

  std::vector<NamedTensor> layout() const override {
    const std::size_t in = weights_.size() - 1;
    return {{"weight", {1, in}, 0}, {"bias", {1}, in}};
  }
  std::span<float> parameters() override { return weights_; }
  void initialise(const std::function<double()>& uniform) override {
    std::ranges::generate(weights_, [&] { return static_cast<float>(uniform() - 0.5); });
  }

  std::span<const MatrixView> begin_batch(std::size_t size) override {
    views_.clear();
    for (Matrix& vectors : pooled_) {
      vectors.reshape(size, dim_);
      views_.push_back(vectors.view());
    }
    return views_;
  }
  void begin_forward(const Batch& /*batch*/) override {}
  void forward(const Batch& batch) override {
    logits_.assign(batch.size, weights_.back());
    losses_.resize(batch.size);
    for (std::size_t i = 0; i < batch.size; ++i) {
      for (std::size_t j = 0; j + 1 < weights_.size(); ++j) {
        logits_[i] += weights_[j] * batch.dense.row(i)[j];
      }
      for (const MatrixView& vectors : views_) {
        for (const float value : vectors.row(i)) logits_[i] += value;
      }
      losses_[i] = log_loss(logits_[i], batch.labels[i]);
    }
  }
  std::span<const float> logits() const override { return logits_; }
  std::span<const float> losses() const override { return losses_; }

  const Tape& backward(const Batch& batch, std::span<const float> weight) override {
    inputs_.reshape(batch.size, weights_.size() - 1);
    gradients_.reshape(batch.size, 1);
    for (Matrix& of_table : pooled_gradients_) of_table.reshape(batch.size, dim_);
    for (std::size_t i = 0; i < batch.size; ++i) {
      const float w = weight.empty() ? 1.0f : weight[i];
      const float g = w == 0.0f ? 0.0f : w * log_loss_gradient(logits_[i], batch.labels[i]);
      for (std::size_t j = 0; j < inputs_.cols(); ++j) {
        inputs_.row(i)[j] = w == 0.0f ? 0.0f : batch.dense.row(i)[j];
      }
      gradients_.row(i)[0] = g;
      for (Matrix& of_table : pooled_gradients_) std::ranges::fill(of_table.row(i), g);
    }
    tape_.layers = {{.inputs = inputs_.view(), .gradients = gradients_.view()}};
    tape_.pooled_gradients.clear();
    for (Matrix& of_table : pooled_gradients_) tape_.pooled_gradients.push_back(of_table.view());
    return tape_;
  }

 private:
  std::vector<float> weights_;
  std::vector<Matrix> pooled_;
  std::vector<MatrixView> views_;
  std::size_t dim_;
  std::vector<float> logits_;
  std::vector<float> losses_;
  Matrix inputs_, gradients_;
  std::vector<Matrix> pooled_gradients_;
  Tape tape_;
};

std::vector<float> train_logistic(std::string_view algorithm, const Settings& s) {
  World world(s.shape, s.key, s.sampling_rate);
  LogisticRegression model(s.shape);
  Trainer trainer(plan_of(algorithm, s), {}, world.seed, model, s.shape.mode, world.tables,
                  world.data, *world.sampler);
  for (Step t = 1; t <= s.steps; ++t) trainer.step();
  trainer.settle_all();
  std::vector<float> all(model.parameters().begin(), model.parameters().end());
  for (Table& table : world.tables) {
    all.insert(all.end(), table.row(0).data(), table.row(0).data() + table.bytes() / sizeof(float));
  }
  return all;
}

// Rounding aside: late noise is added in another order.
void expect_same(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-5f) << i;
}

TEST(AnotherModel, LateNoiseGivesTheModelOfEagerNoise) {
  const Settings s;
  expect_same(train_logistic("lazydp-no-ans", s), train_logistic("dpsgd-f", s));
}

TEST(AnotherModel, AllWaysToClipGiveTheSameModel) {
  const Settings s;
  const std::vector<float> ghost = train_logistic("dpsgd-f", s);
  expect_same(train_logistic("dpsgd-b", s), ghost);
  expect_same(train_logistic("dpsgd-r", s), ghost);
}

}  // namespace
}  // namespace lazydp
