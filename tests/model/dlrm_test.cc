#include "lazydp/model/dlrm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/model/gemm.h"
#include "tests/model/dlrm_fixture.h"

namespace lazydp {
namespace {

using testing::all_zero;
using testing::DlrmFixture;
using testing::rows_of;
using testing::same_bits;
using testing::tiny_shape;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

ModelShape odd_shape() {
  return tiny_shape(5, 12, {33, 20}, {40, 17});
}

TEST(Dlrm, HasTheSameBitsOnAnyNumberOfThreads) {
  const int before = thread_count();
  for (const char* name : {"small", "kaggle", "mlperf"}) {
    for (const std::size_t batch : {1ul, 5ul, 257ul}) {
      std::vector<std::vector<float>> results;
      for (const int threads : {1, 2, 3}) {
        set_thread_count(threads);
        DlrmFixture f(named_shape(name, 1e-6), batch);
        f.forward();
        std::vector<float> weight(batch, 0.3f);
        weight[batch / 2] = 0.0f;
        f.model.backward(f.batch, {});
        const Tape& tape = f.model.backward(f.batch, weight);
        std::vector<float>& all = results.emplace_back(rows_of(tape, 0, batch));
        all.insert(all.end(), f.model.logits().begin(), f.model.logits().end());
        all.insert(all.end(), f.model.losses().begin(), f.model.losses().end());
      }
      EXPECT_TRUE(same_bits(results[0], results[1])) << name << " batch " << batch;
      EXPECT_TRUE(same_bits(results[0], results[2])) << name << " batch " << batch;
    }
  }
  set_thread_count(before);
}

// A heavier positive is one whose loss is multiplied before anything is measured of its gradient.
TEST(Dlrm, APositiveWeighsAsIfItsLossWereMultiplied) {
  constexpr std::size_t kBatch = 9;
  constexpr float kWeight = 4.0f;  // a power of two: products are exact
  DlrmFixture plain(odd_shape(), kBatch);
  DlrmFixture heavy(odd_shape(), kBatch);
  heavy.model.weigh_positives(kWeight);
  plain.forward();
  heavy.forward();
  std::vector<float> weights(kBatch, 1.0f);
  for (std::size_t i = 0; i < kBatch; ++i) {
    if (plain.batch.labels[i] == 1.0f) weights[i] = kWeight;
    EXPECT_FLOAT_EQ(heavy.model.losses()[i], weights[i] * plain.model.losses()[i]);
  }
  EXPECT_EQ(std::ranges::count(weights, kWeight), std::ranges::count(plain.batch.labels, 1.0f));
  EXPECT_TRUE(same_bits(rows_of(heavy.model.backward(heavy.batch, {}), 0, kBatch),
                        rows_of(plain.model.backward(plain.batch, weights), 0, kBatch)));
}

// Returns the results of a batch whose bottom MLP ran before its pooled vectors arrived, and of the
// batches after it.
TEST(Dlrm, MayBeginBeforePooledVectorsCome) {
  constexpr std::size_t kBatch = 70;
  DlrmFixture whole(odd_shape(), kBatch);
  DlrmFixture begun(odd_shape(), kBatch);
  for (int round = 0; round < 2; ++round) {
    whole.forward();
    const std::span<const MatrixView> views = begun.model.begin_batch(kBatch);
    for (const MatrixView& view : views) {
      for (std::size_t i = 0; i < kBatch; ++i) std::ranges::fill(view.row(i), kNan);
    }
    begun.model.begin_forward(begun.batch);
    for (std::size_t t = 0; t < views.size(); ++t) {
      for (std::size_t i = 0; i < kBatch; ++i) {
        std::ranges::copy(begun.pooled[t].row(i), views[t].row(i).begin());
      }
    }
    begun.model.forward(begun.batch);
    EXPECT_TRUE(same_bits(whole.model.logits(), begun.model.logits()));
    EXPECT_TRUE(same_bits(rows_of(whole.model.backward(whole.batch, {}), 0, kBatch),
                          rows_of(begun.model.backward(begun.batch, {}), 0, kBatch)));
    for (DlrmFixture* f : {&whole, &begun}) {  // the next batch is another
      for (std::size_t i = 0; i < kBatch; ++i) f->batch.dense.row(i)[0] += 1.0f;
    }
  }
  begun.forward();  // without beginning
  whole.forward();
  EXPECT_TRUE(same_bits(whole.model.logits(), begun.model.logits()));
}

TEST(Dlrm, AWeightScalesItsExamplesGradientsAndNothingElse) {
  constexpr std::size_t kBatch = 70;
  DlrmFixture f(odd_shape(), kBatch);
  f.forward();
  const Tape& tape = f.model.backward(f.batch, {});
  std::vector<std::vector<float>> inputs;
  std::vector<std::vector<float>> gradients;
  for (const LayerTrace& layer : tape.layers) {
    for (std::size_t i = 0; i < kBatch; ++i) {
      inputs.emplace_back(layer.inputs.row(i).begin(), layer.inputs.row(i).end());
      gradients.emplace_back(layer.gradients.row(i).begin(), layer.gradients.row(i).end());
    }
  }
  std::vector<float> weight(kBatch);  // powers of two: exact
  for (std::size_t i = 0; i < kBatch; ++i)
    weight[i] = std::ldexp(1.0f, static_cast<int>(i % 9) - 4);
  f.model.backward(f.batch, weight);
  std::size_t next = 0;
  for (const LayerTrace& layer : tape.layers) {
    for (std::size_t i = 0; i < kBatch; ++i, ++next) {
      EXPECT_TRUE(same_bits(layer.inputs.row(i), inputs[next]));
      for (std::size_t o = 0; o < layer.gradients.cols; ++o) {
        ASSERT_EQ(layer.gradients.row(i)[o], weight[i] * gradients[next][o]);
      }
    }
  }
}

TEST(Dlrm, AllOnesIsTheSameAsNoWeightsHoweverOftenItIsAsked) {
  DlrmFixture f(odd_shape(), 70);
  f.forward();
  const std::vector<float> first = rows_of(f.model.backward(f.batch, {}), 0, 70);
  const std::vector<float> ones(70, 1.0f);
  EXPECT_TRUE(same_bits(first, rows_of(f.model.backward(f.batch, ones), 0, 70)));
  EXPECT_TRUE(same_bits(first, rows_of(f.model.backward(f.batch, {}), 0, 70)));
}

// Puts something that is not a number into one example, or makes its activations overflow.
void spoil(DlrmFixture& f, std::size_t example, int how) {
  switch (how) {
    case 0: f.batch.dense.row(example)[1] = kNan; break;
    case 1: f.pooled[2].row(example)[0] = kNan; break;
    case 2: f.batch.dense.row(example)[0] = kInfinity; break;
    case 3: f.pooled[0].row(example)[3] = -kInfinity; break;
    case 4: f.batch.labels[example] = kNan; break;
    default: std::ranges::fill(f.batch.dense.row(example), 1e38f); break;
  }
}

TEST(Dlrm, AnExampleOfWeightZeroLeavesZerosWhateverItsValues) {
  constexpr std::size_t kBad = 30;
  for (int how = 0; how < 6; ++how) {
    DlrmFixture clean(odd_shape(), 70);
    DlrmFixture spoilt(odd_shape(), 70);
    spoil(spoilt, kBad, how);
    std::vector<float> weight(70, 0.5f);
    weight[kBad] = 0.0f;
    clean.forward();
    spoilt.forward();
    clean.model.backward(clean.batch, {});
    spoilt.model.backward(spoilt.batch, {});
    const Tape& expected = clean.model.backward(clean.batch, weight);
    const Tape& tape = spoilt.model.backward(spoilt.batch, weight);
    EXPECT_TRUE(all_zero(rows_of(tape, kBad, kBad + 1))) << how;
    EXPECT_TRUE(same_bits(rows_of(tape, 0, kBad), rows_of(expected, 0, kBad))) << how;
    EXPECT_TRUE(same_bits(rows_of(tape, kBad + 1, 70), rows_of(expected, kBad + 1, 70))) << how;

    Matrix gradient(tape.layers[0].gradients.cols, tape.layers[0].inputs.cols);
    parallel_transpose_times(tape.layers[0].gradients, tape.layers[0].inputs, gradient.view());
    for (std::size_t o = 0; o < gradient.rows(); ++o) {
      for (const float value : gradient.row(o)) EXPECT_TRUE(std::isfinite(value)) << how;
    }
  }
}

TEST(Dlrm, ANotANumberReachesTheLossAndTheTape) {
  for (const int how : {0, 1, 4}) {
    DlrmFixture f(odd_shape(), 10);
    spoil(f, 3, how);
    f.forward();
    EXPECT_TRUE(std::isnan(f.model.losses()[3])) << how;
    const Tape& tape = f.model.backward(f.batch, {});
    EXPECT_TRUE(std::isnan(tape.layers.back().gradients.row(3)[0])) << how;
  }
}

TEST(Dlrm, AnExampleLeftOutStaysOutUntilTheNextForward) {
  DlrmFixture f(odd_shape(), 10);
  f.forward();
  const std::vector<float> before = rows_of(f.model.backward(f.batch, {}), 0, 10);
  std::vector<float> weight(10, 1.0f);
  weight[4] = 0.0f;
  f.model.backward(f.batch, weight);
  EXPECT_TRUE(all_zero(rows_of(f.model.backward(f.batch, {}), 4, 5)));
  f.forward();
  EXPECT_TRUE(same_bits(before, rows_of(f.model.backward(f.batch, {}), 0, 10)));
}

TEST(Dlrm, AnEmptyBatchIsNoExampleButAStep) {
  DlrmFixture f(odd_shape(), 0);
  f.forward();
  EXPECT_TRUE(f.model.logits().empty());
  EXPECT_TRUE(f.model.losses().empty());
  const Tape& tape = f.model.backward(f.batch, {});
  ASSERT_EQ(tape.layers.size(), 6u);
  EXPECT_EQ(tape.pooled_gradients.size(), 5u);
  for (const LayerTrace& layer : tape.layers) {
    EXPECT_EQ(layer.inputs.rows, 0u);
    Matrix gradient(layer.gradients.cols, layer.inputs.cols);
    gradient.fill(1.0f);
    parallel_transpose_times(layer.gradients, layer.inputs, gradient.view());
    EXPECT_TRUE(all_zero({gradient.data(), gradient.rows() * gradient.cols()}));
  }
}

TEST(Dlrm, LargeAndSmallBatchesGiveAnExampleTheSameLoss) {
  DlrmFixture large(odd_shape(), 400);
  large.forward();
  DlrmFixture small(odd_shape(), 400);
  small.batch.size = 3;
  Matrix dense(3, 4);
  for (std::size_t i = 0; i < 3; ++i)
    std::ranges::copy(small.batch.dense.row(i), dense.row(i).begin());
  small.batch.dense = std::move(dense);
  small.batch.labels.resize(3);
  small.forward();
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(small.model.losses()[i], large.model.losses()[i], 1e-6);
  }
}

TEST(Dlrm, TheTapeNamesEveryParameterOnce) {
  DlrmFixture f(odd_shape(), 2);
  f.forward();
  std::size_t next = 0;
  for (const LayerTrace& layer : f.model.backward(f.batch, {}).layers) {
    EXPECT_EQ(layer.first_parameter, next);
    next += layer.parameters();
  }
  EXPECT_EQ(next, f.model.parameters().size());
}

TEST(Dlrm, RefusesAShapeThatCannotBe) {
  ModelShape shape = odd_shape();
  shape.top.back() = 2;
  EXPECT_THROW(Dlrm{shape}, UserError);
}

TEST(Dlrm, StartsUniformWithinOneOverTheRootOfTheInputs) {
  const ModelShape shape = named_shape("small");
  Dlrm model(shape);
  const std::span<const float> parameters = model.parameters();
  testing::Numbers numbers(5);
  model.initialise([&] { return numbers.uniform(); });
  for (const auto& layers : {shape.bottom_layers(), shape.top_layers()}) {
    for (const LayerShape& layer : layers) {
      const double bound = std::sqrt(1.0 / static_cast<double>(layer.in));
      double largest = 0.0;
      double sum = 0.0;
      for (std::size_t p = 0; p < layer.parameters(); ++p) {
        const double value = parameters[layer.first_parameter + p];
        largest = std::max(largest, std::fabs(value));
        sum += value;
      }
      EXPECT_LE(largest, bound * (1.0 + 1e-6));
      EXPECT_GE(largest, bound * 0.9);
      const double count = static_cast<double>(layer.parameters());
      EXPECT_LE(std::fabs(sum / count),
                5.0 * bound / std::sqrt(3.0 * count));  // 5 sigma, fixed seed
    }
  }
}

TEST(Dlrm, DrawsFirstWeightsInTheOrderOfTheArray) {
  const ModelShape shape = tiny_shape(1, 1, {}, {});
  Dlrm model(shape);
  const std::span<const float> parameters = model.parameters();
  int draws = 0;
  model.initialise([&] { return ++draws == 1 ? 1.0 : 0.5; });
  EXPECT_EQ(draws, static_cast<int>(parameters.size()));
  EXPECT_FLOAT_EQ(parameters[0], 0.5f);  // sqrt(1 / 4)
  EXPECT_EQ(parameters[1], 0.0f);
}

}  // namespace
}  // namespace lazydp
