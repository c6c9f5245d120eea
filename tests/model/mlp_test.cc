#include "lazydp/model/mlp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "lazydp/base/error.h"
#include "tests/model/fill.h"

namespace lazydp {
namespace {

// 3-4-2 with parameters from 10 on, between ends that lie inside wider matrices.
struct Stack {
  explicit Stack(Mlp::Last last)
      : mlp(layers, last),
        parameters(100),
        in(6, 9),
        out(6, 7),
        in_gradient(6, 5),
        out_gradient(6, 2) {
    testing::Numbers numbers(1);
    numbers.fill(parameters);
    for (Matrix* m : {&in, &out_gradient}) {
      for (std::size_t i = 0; i < 6; ++i) numbers.fill(m->row(i));
    }
    out.fill(kUntouched);
    in_gradient.fill(kUntouched);
    mlp.attach(ends());
  }
  Mlp::Ends ends() {
    return {.input = in.view().cols_from(4, 3),
            .output = out.view().cols_from(5, 2),
            .output_gradient = out_gradient.view(),
            .input_gradient = in_gradient.view().cols_from(1, 3)};
  }
  // Output o of the plain double computation for one example.
  double expected(std::size_t example, std::size_t o, Mlp::Last last) const {
    double y = parameters[first_bias(1) + o];
    for (std::size_t h = 0; h < 4; ++h) {
      double hidden = parameters[first_bias(0) + h];
      for (std::size_t k = 0; k < 3; ++k) {
        hidden += static_cast<double>(parameters[10 + h * 3 + k]) * in.row(example)[4 + k];
      }
      y += std::max(hidden, 0.0) * parameters[26 + o * 4 + h];
    }
    return last == Mlp::Last::relu ? std::max(y, 0.0) : y;
  }
  std::size_t first_bias(std::size_t layer) const { return layers[layer].first_bias(); }

  static constexpr float kUntouched = 777.0f;
  std::vector<LayerShape> layers = {{.in = 3, .out = 4, .first_parameter = 10},
                                    {.in = 4, .out = 2, .first_parameter = 26}};
  Mlp mlp;
  std::vector<float> parameters;
  Matrix in, out, in_gradient, out_gradient;
};

TEST(Mlp, ForwardIsTheNaiveStackBetweenStridedEnds) {
  for (const Mlp::Last last : {Mlp::Last::relu, Mlp::Last::linear}) {
    Stack s(last);
    s.mlp.forward(s.parameters, 0, 4);
    s.mlp.forward(s.parameters, 4, 6);
    bool negative = false;
    for (std::size_t i = 0; i < 6; ++i) {
      for (std::size_t o = 0; o < 2; ++o) {
        EXPECT_NEAR(s.out.row(i)[5 + o], s.expected(i, o, last), 1e-6);
        negative = negative || s.expected(i, o, Mlp::Last::linear) < 0.0;
      }
      EXPECT_EQ(s.out.row(i)[4], Stack::kUntouched);
    }
    EXPECT_TRUE(negative) << "the data does not tell ReLU from none";
  }
}

TEST(Mlp, BothPassesTouchTheirExamplesOnly) {
  Stack s(Mlp::Last::linear);
  s.mlp.forward(s.parameters, 0, 6);
  s.mlp.backward(s.parameters, 2, 4);
  for (std::size_t i = 0; i < 6; ++i) {
    const bool touched = i == 2 || i == 3;
    for (std::size_t k = 0; k < 5; ++k) {
      const bool inside = k >= 1 && k < 4;
      EXPECT_EQ(s.in_gradient.row(i)[k] != Stack::kUntouched, touched && inside) << i << "," << k;
    }
  }
}

TEST(Mlp, SkipsAnInputGradientThatIsNotWanted) {
  Stack s(Mlp::Last::relu);
  Mlp::Ends ends = s.ends();
  ends.input_gradient = {};
  s.mlp.attach(ends);
  s.mlp.forward(s.parameters, 0, 6);
  s.mlp.backward(s.parameters, 0, 6);
  EXPECT_EQ(s.in_gradient.row(0)[1], Stack::kUntouched);
}

TEST(Mlp, RefusesEndsThatDoNotFit) {
  Stack s(Mlp::Last::relu);
  Mlp::Ends ends = s.ends();
  ends.input = s.in.view();
  EXPECT_THROW(s.mlp.attach(ends), InternalError);
}

TEST(Activation, LetsANanThroughBothWays) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  Matrix y(1, 17);
  Matrix gradient(1, 17);
  y.fill(-1.0f);
  gradient.fill(2.0f);
  y.row(0)[3] = y.row(0)[16] = kNan;
  y.row(0)[4] = 5.0f;
  const std::vector<float> bias(17, 0.5f);
  add_bias_and_relu(bias, y.view());
  relu_backward(y.view(), gradient.view());
  for (std::size_t j = 0; j < 17; ++j) {
    if (j == 3 || j == 16) {
      EXPECT_TRUE(std::isnan(y.row(0)[j]));
      EXPECT_EQ(gradient.row(0)[j], 2.0f);
    } else {
      EXPECT_EQ(y.row(0)[j], j == 4 ? 5.5f : 0.0f);
      EXPECT_EQ(gradient.row(0)[j], j == 4 ? 2.0f : 0.0f);
    }
  }
}

}  // namespace
}  // namespace lazydp
