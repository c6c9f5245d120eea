// The clip methods agree with per-example gradients by finite differences of an independent model.

#include "lazydp/clip/gradient_method.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/support/dlrm_in_double.h"
#include "tests/support/small_world.h"

namespace lazydp {
namespace {

using oracle::World;

constexpr std::size_t kBudget = std::size_t{1} << 20;

// The library's gradient of one batch as a dense vector: dense parameters, then tables.
std::vector<double> library_sum(World& world, const Batch& batch, ClipMethod method, double clip) {
  const auto pooled = world.model.begin_batch(batch.size);
  for (std::size_t k = 0; k < world.tables.size(); ++k) {
    pool(world.tables[k], batch.bags[k], world.shape.mode, pooled[k]);
  }
  world.model.forward(batch);
  Gradient gradient;
  StageClock stages;
  make_gradient_method(method, world.shape.mode, kBudget)
      ->compute(world.model, batch, clip, gradient, stages);
  std::vector<double> out(gradient.dense.begin(), gradient.dense.end());
  for (std::size_t k = 0; k < world.tables.size(); ++k) {
    Table rows(0, world.tables[k].rows(), world.shape.dim);
    add_gradient(rows, gradient.tables[k], 1.0f, {});
    const float* first = rows.row(0).data();
    out.insert(out.end(), first, first + rows.bytes() / sizeof(float));
  }
  return out;
}

oracle::PlainDlrm plain_model(World& world) {
  const auto weights = world.weights();
  return {.bottom = world.shape.bottom,
          .top = world.shape.top,
          .dim = world.shape.dim,
          .mean = world.shape.mode == Pooling::mean,
          .rows = world.shape.table_rows,
          .weights = {weights.begin(), weights.end()}};
}

oracle::PlainExample plain_example(const Batch& batch, std::size_t i) {
  oracle::PlainExample e;
  e.dense.assign(batch.dense.row(i).begin(), batch.dense.row(i).end());
  e.label = batch.labels[i];
  for (const Bags& bags : batch.bags) e.bags.emplace_back(bags.of(i).begin(), bags.of(i).end());
  return e;
}

// Each example's gradient by differences, scaled to `clip`, added up. Examples in `skip` are not.
std::vector<double> expected_sum(World& world, const Batch& batch, double clip,
                                 std::size_t skip = SIZE_MAX) {
  auto model = plain_model(world);
  std::vector<double> sum(model.weights.size(), 0.0);
  for (std::size_t i = 0; i < batch.size; ++i) {
    if (i == skip) continue;
    const auto g = model.gradient(plain_example(batch, i));
    double norm = 0.0;
    for (const double x : g) norm += x * x;
    const double factor = std::min(1.0, clip / std::sqrt(norm));
    for (std::size_t j = 0; j < g.size(); ++j) sum[j] += factor * g[j];
  }
  return sum;
}

Batch read_all(const World& world) {
  std::vector<ExampleId> ids(world.data.size());
  std::iota(ids.begin(), ids.end(), 0);
  Batch batch;
  world.data.read(ids, batch);
  return batch;
}

constexpr ClipMethod kClipping[] = {ClipMethod::materialize, ClipMethod::reweight,
                                    ClipMethod::ghost};

TEST(ClipMethod, EveryOneGivesTheSumOfClippedGradientsByDifferences) {
  for (const Pooling mode : {Pooling::sum, Pooling::mean}) {
    World world(oracle::small_shape({1, 6, 9}, mode), 1, 0.5, 30);
    const Batch batch = read_all(world);
    for (const double clip : {0.05, 0.4, 1e6}) {
      const auto expected = expected_sum(world, batch, clip);
      for (const ClipMethod method : kClipping) {
        EXPECT_LT(oracle::distance(library_sum(world, batch, method, clip), expected), 2e-4)
            << "method " << int(method) << " clip " << clip;
      }
    }
    EXPECT_LT(oracle::distance(library_sum(world, batch, ClipMethod::none, 1.0),
                               expected_sum(world, batch, 1e9)),
              2e-4);
  }
}

TEST(ClipMethod, OneExamplesSumIsNeverLongerThanTheClipNorm) {
  World world(oracle::small_shape({1, 6, 9}), 1, 0.5, 30);
  for (std::size_t i = 0; i < 30; ++i) {
    const ExampleId id = i;
    Batch one;
    world.data.read({&id, 1}, one);
    for (const ClipMethod method : kClipping) {
      double norm = 0.0;
      for (const double x : library_sum(world, one, method, 0.01)) norm += x * x;
      EXPECT_LE(std::sqrt(norm), 0.01);
      EXPECT_GE(std::sqrt(norm), 0.01 * (1.0 - 1e-4)) << "these gradients are all longer";
    }
  }
}

TEST(ClipMethod, AnExampleThatIsNotFiniteIsLeftOutAndNotNoticed) {
  for (const float poison :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 3e38f}) {
    World world(oracle::small_shape({1, 6, 9}), 1, 0.5, 12);
    const auto expected = expected_sum(world, read_all(world), 0.3, 4);
    world.data.poison(4, poison);
    const Batch batch = read_all(world);
    for (const ClipMethod method : kClipping) {
      EXPECT_LT(oracle::distance(library_sum(world, batch, method, 0.3), expected), 1e-4)
          << "method " << int(method) << " poison " << poison;
    }
  }
}

TEST(ClipMethod, AnEmptyBatchGivesZeros) {
  World world(oracle::small_shape({1, 6, 9}), 1, 0.5, 12);
  Batch batch;
  world.data.read({}, batch);
  for (const ClipMethod method :
       {ClipMethod::none, ClipMethod::materialize, ClipMethod::reweight, ClipMethod::ghost}) {
    for (const double x : library_sum(world, batch, method, 0.3)) ASSERT_EQ(x, 0.0);
  }
}

TEST(ClipMethod, MaterializeHoldsNoMoreThanItsBudget) {
  World world(oracle::small_shape({1, 6, 9}), 1, 0.5, 12);
  const Batch batch = read_all(world);
  const std::size_t one = world.model.parameters().size() * sizeof(float);
  Gradient all;
  Gradient few;
  StageClock stages;
  const auto compute = [&](std::size_t budget, Gradient& gradient) {
    const auto pooled = world.model.begin_batch(batch.size);
    for (std::size_t k = 0; k < 3; ++k) {
      pool(world.tables[k], batch.bags[k], Pooling::sum, pooled[k]);
    }
    world.model.forward(batch);
    const auto method = make_gradient_method(ClipMethod::materialize, Pooling::sum, budget);
    method->compute(world.model, batch, 0.3, gradient, stages);
    return method->microbatches();
  };
  EXPECT_EQ(compute(100 * one, all).examples, 12u);
  const Microbatches five = compute(5 * one, few);
  EXPECT_EQ(five.examples, 5u);
  EXPECT_EQ(five.bytes_one_pass, 12 * one);
  EXPECT_LT(oracle::distance(all.dense, few.dense), 1e-6);
}

}  // namespace
}  // namespace lazydp
