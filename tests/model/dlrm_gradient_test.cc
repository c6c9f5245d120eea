#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "lazydp/model/dlrm.h"
#include "tests/model/dlrm_fixture.h"
#include "tests/model/dlrm_oracle.h"

namespace lazydp {
namespace {

using testing::DlrmFixture;
using testing::DlrmOracle;
using testing::tiny_shape;
using Vector = DlrmOracle::Vector;

// The fixture's batch and weights, for the oracle.
struct Mirror {
  explicit Mirror(DlrmFixture& f)
      : oracle{.bottom = f.model.shape().bottom,
               .top = f.model.shape().top,
               .parameters = {},
               .concatenates = f.model.shape().interaction != Interaction::dot,
               .linear = f.model.shape().interaction == Interaction::linear_concat_dot} {
    for (const float p : f.model.parameters()) oracle.parameters.push_back(p);
    for (std::size_t i = 0; i < f.batch.size; ++i) {
      dense.emplace_back(f.batch.dense.row(i).begin(), f.batch.dense.row(i).end());
      pooled.emplace_back();
      for (const Matrix& vectors : f.pooled) {
        pooled.back().emplace_back(vectors.row(i).begin(), vectors.row(i).end());
      }
    }
    labels.assign(f.batch.labels.begin(), f.batch.labels.end());
  }

  double loss(std::size_t i) const { return oracle.loss(dense[i], pooled[i], labels[i]); }
  double weighted_loss(const std::vector<float>& weight) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < labels.size(); ++i) sum += weight[i] * loss(i);
    return sum;
  }

  // d f / d x by central differences. Far from a kink of ReLU its error is about 1e-9.
  template <class Function>
  static double derivative(double& x, Function&& f) {
    constexpr double kStep = 1e-6;
    const double middle = x;
    x = middle + kStep;
    const double above = f();
    x = middle - kStep;
    const double below = f();
    x = middle;
    return (above - below) / (2.0 * kStep);
  }

  DlrmOracle oracle;
  std::vector<Vector> dense;
  std::vector<std::vector<Vector>> pooled;
  Vector labels;
};

// The weight gradient that a tape stands for: sum over examples of d x', and of d.
Vector dense_gradient(const Tape& tape, std::size_t parameters) {
  Vector gradient(parameters, 0.0);
  for (const LayerTrace& layer : tape.layers) {
    const std::size_t in = layer.inputs.cols;
    const std::size_t out = layer.gradients.cols;
    for (std::size_t i = 0; i < layer.inputs.rows; ++i) {
      for (std::size_t o = 0; o < out; ++o) {
        const double d = layer.gradients.row(i)[o];
        for (std::size_t k = 0; k < in; ++k) {
          gradient[layer.first_parameter + o * in + k] += d * layer.inputs.row(i)[k];
        }
        gradient[layer.first_parameter + out * in + o] += d;
      }
    }
  }
  return gradient;
}

void expect_oracle_gradients(DlrmFixture& f, const std::vector<float>& weight, const Tape& tape) {
  Mirror mirror(f);
  const Vector gradient = dense_gradient(tape, f.model.parameters().size());
  for (std::size_t p = 0; p < gradient.size(); ++p) {
    const double expected = Mirror::derivative(mirror.oracle.parameters[p],
                                               [&] { return mirror.weighted_loss(weight); });
    ASSERT_NEAR(gradient[p], expected, 2e-6 + 2e-5 * std::fabs(expected)) << "parameter " << p;
  }
  for (std::size_t t = 0; t < f.pooled.size(); ++t) {
    for (std::size_t i = 0; i < f.batch.size; ++i) {
      for (std::size_t k = 0; k < f.model.shape().dim; ++k) {
        const double expected =
            Mirror::derivative(mirror.pooled[i][t][k], [&] { return weight[i] * mirror.loss(i); });
        ASSERT_NEAR(tape.pooled_gradients[t].row(i)[k], expected, 2e-6 + 2e-5 * std::fabs(expected))
            << "table " << t << " example " << i << " coordinate " << k;
      }
    }
  }
}

ModelShape with(Interaction interaction, ModelShape shape) {
  shape.interaction = interaction;
  return shape;
}

std::string name_of(const ModelShape& shape) {
  constexpr std::array kNames = {"", "Concat", "LinearConcat"};
  return std::to_string(shape.tables()) + "TablesDim" + std::to_string(shape.dim) +
         kNames.at(static_cast<std::size_t>(shape.interaction));
}

class DlrmGradient : public ::testing::TestWithParam<ModelShape> {};

TEST_P(DlrmGradient, LossesAndLogitsAreTheOracles) {
  DlrmFixture f(GetParam(), 150);
  f.forward();
  const Mirror mirror(f);
  for (std::size_t i = 0; i < f.batch.size; ++i) {
    EXPECT_NEAR(f.model.logits()[i], mirror.oracle.logit(mirror.dense[i], mirror.pooled[i]), 1e-5);
    EXPECT_NEAR(f.model.losses()[i], mirror.loss(i), 1e-5);
  }
}

TEST_P(DlrmGradient, OfEveryParameterAndPooledVectorIsTheFiniteDifference) {
  DlrmFixture f(GetParam(), 9);
  f.forward();
  expect_oracle_gradients(f, std::vector<float>(9, 1.0f), f.model.backward(f.batch, {}));
}

TEST_P(DlrmGradient, WithWeightsAfterAPassWithoutIsTheFiniteDifference) {
  DlrmFixture f(GetParam(), 9, 2);
  f.forward();
  f.model.backward(f.batch, {});
  const std::vector<float> weight = {0.5f, 0.0f, 1.0f, 0.25f, 0.0f, 3.0f, -1.0f, 0.1f, 0.7f};
  expect_oracle_gradients(f, weight, f.model.backward(f.batch, weight));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, DlrmGradient,
    ::testing::Values(tiny_shape(3, 5, {7}, {6, 3}), tiny_shape(1, 1, {}, {}),
                      tiny_shape(2, 8, {3, 1, 5}, {1}), tiny_shape(8, 16, {6}, {10}),
                      with(Interaction::concat_dot, tiny_shape(3, 5, {7}, {6, 3})),
                      with(Interaction::concat_dot, tiny_shape(1, 1, {}, {})),
                      with(Interaction::linear_concat_dot, tiny_shape(3, 5, {7}, {6, 3})),
                      with(Interaction::linear_concat_dot, tiny_shape(1, 1, {}, {}))),
    [](const auto& shape) { return name_of(shape.param); });

TEST(DlrmDeadUnits, HaveNoGradientAndTheRestIsRight) {
  const ModelShape shape = tiny_shape(3, 5, {7}, {6, 3});
  DlrmFixture f(shape, 9, 3);
  const LayerShape layer = shape.bottom_layers()[0];
  const LayerShape next = shape.bottom_layers()[1];
  for (const std::size_t unit : {std::size_t{0}, std::size_t{6}}) {
    f.model.parameters()[layer.first_bias() + unit] = -100.0f;
  }
  f.forward();
  const Tape& tape = f.model.backward(f.batch, {});
  for (const std::size_t unit : {std::size_t{0}, std::size_t{6}}) {
    for (std::size_t i = 0; i < f.batch.size; ++i) {
      EXPECT_EQ(tape.layers[0].gradients.row(i)[unit], 0.0f);
      EXPECT_EQ(tape.layers[1].inputs.row(i)[unit], 0.0f);
    }
  }
  EXPECT_EQ(tape.layers[1].first_parameter, next.first_parameter);
  expect_oracle_gradients(f, std::vector<float>(9, 1.0f), tape);
}

}  // namespace
}  // namespace lazydp
