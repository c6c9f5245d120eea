// Tables under Adam and Adagrad, beside PyTorch's own numbers and a plain loop in double.

#include "lazydp/noise/adaptive_tables.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <random>

#include "lazydp/base/parallel.h"

namespace lazydp {
namespace {

using Row = std::vector<double>;

// One row at a time, in double, as the papers and torch.optim write the two rules for sparse
// gradients. Shares no code with the library.
class PlainRows {
 public:
  PlainRows(TableRule rule, std::size_t dim) : rule_(rule), dim_(dim) {}

  void step(double rate, const std::map<RowId, Row>& gradients) {
    ++steps_;
    for (const auto& [id, g] : gradients) {
      Row& w = weights.try_emplace(id, dim_, 0.0).first->second;
      Row& m = first_.try_emplace(id, dim_, 0.0).first->second;
      Row& v = second_.try_emplace(id, dim_, 0.0).first->second;
      for (std::size_t j = 0; j < dim_; ++j) {
        if (rule_ == TableRule::adagrad) {
          v[j] += g[j] * g[j];
          w[j] -= rate * g[j] / (std::sqrt(v[j]) + 1e-10);
          continue;
        }
        m[j] = 0.9 * m[j] + 0.1 * g[j];
        v[j] = 0.999 * v[j] + 0.001 * g[j] * g[j];
        const double size =
            rate * std::sqrt(1.0 - std::pow(0.999, steps_)) / (1.0 - std::pow(0.9, steps_));
        w[j] -= size * m[j] / (std::sqrt(v[j]) + 1e-8);
      }
    }
  }

  std::map<RowId, Row> weights;

 private:
  TableRule rule_;
  std::size_t dim_;
  int steps_ = 0;
  std::map<RowId, Row> first_, second_;
};

class Adaptive : public testing::TestWithParam<TableRule> {};

// torch 2: three steps of SparseAdam(lr=0.1), of Adagrad(lr=0.1), on gradients whose first has the
// row 0 twice.
TEST_P(Adaptive, IsPyTorchsOptimizerOfSparseGradients) {
  const std::array<std::vector<RowId>, 3> ids = {{{0, 1, 0}, {1}, {2, 0}}};
  const std::array<std::vector<float>, 3> values = {
      {{1, 2, -3, .5, .25, -1}, {.75, 4}, {-1.5, .125, 2, 2}}};
  const std::vector<float> adam = {0.315345526f, -0.432857215f, 0.271946818f,
                                   0.81785351f,  -0.686118662f, -0.00138119608f};
  const std::vector<float> adagrad = {0.31520018f, -0.439442724f, 0.200746432f,
                                      0.80077219f, -0.649999976f, -0.0375000015f};
  std::vector<float> weights = {0.5f, -0.25f, 0.125f, 1.0f, -0.75f, 0.0625f};
  std::vector<Table> tables;
  tables.push_back(Table::borrow(0, weights, 2));
  RateClock clock;
  AdaptiveTables updates(GetParam(), tables, clock);
  StageClock stages;
  for (std::size_t s = 0; s < 3; ++s) {
    Bags bags{.offsets = {0}, .ids = ids[s], .weights = {}};
    for (std::size_t i = 1; i <= ids[s].size(); ++i) bags.offsets.push_back(i);
    const TableGradient gradient = {&bags, Pooling::sum,
                                    ConstMatrixView{values[s].data(), ids[s].size(), 2, 2}};
    updates.apply(clock.open({.learning_rate = 0.1}), {&gradient, 1}, stages);
  }
  const std::vector<float>& expected = GetParam() == TableRule::adam ? adam : adagrad;
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(weights[i], expected[i], 1e-6) << i;
}

struct MadeUpBatch {
  Bags bags;
  Matrix gradient;
};

// Bags of up to five of `rows` rows, with repeats; one bag in five, and one batch in six, is empty.
MadeUpBatch made_up(std::mt19937& rng, RowId rows, std::size_t dim) {
  MadeUpBatch batch;
  const std::size_t bags = rng() % 6 == 0 ? 0 : 1 + rng() % 8;
  for (std::size_t b = 0; b < bags; ++b) {
    for (auto k = rng() % 5; k > 0; --k) {
      batch.bags.ids.push_back(static_cast<RowId>(rng() % static_cast<unsigned long>(rows)));
      if (rng() % 3 == 0) batch.bags.ids.push_back(batch.bags.ids.back());
    }
    batch.bags.offsets.push_back(batch.bags.ids.size());
  }
  for (std::size_t i = 0; i < batch.bags.ids.size(); ++i) {
    batch.bags.weights.push_back(0.25f * static_cast<float>(1 + rng() % 6));
  }
  std::normal_distribution<float> normal;
  batch.gradient = Matrix(bags, dim);
  for (std::size_t b = 0; b < bags; ++b) {
    for (float& g : batch.gradient.row(b)) g = normal(rng);
  }
  return batch;
}

std::map<RowId, Row> gradients_by_row(const MadeUpBatch& batch, bool mean, double divisor,
                                      std::size_t dim) {
  std::map<RowId, Row> rows;
  for (std::size_t b = 0; b < batch.bags.size(); ++b) {
    const double length = static_cast<double>(batch.bags.length(b));
    for (std::size_t k = batch.bags.offsets[b]; k < batch.bags.offsets[b + 1]; ++k) {
      Row& row = rows.try_emplace(batch.bags.ids[k], dim, 0.0).first->second;
      const double share = static_cast<double>(batch.bags.weights[k]) / (mean ? length : 1.0);
      for (std::size_t j = 0; j < dim; ++j) {
        row[j] += share * static_cast<double>(batch.gradient.row(b)[j]) / divisor;
      }
    }
  }
  return rows;
}

TEST_P(Adaptive, IsThePlainLoopWhateverABatchNames) {
  constexpr std::size_t kDim = 3;
  constexpr RowId kRows = 40;
  const int before = thread_count();
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    for (const bool mean : {false, true}) {
      std::mt19937 rng(7);
      std::vector<Table> tables;
      tables.emplace_back(TableId{0}, kRows, kDim);
      tables.emplace_back(TableId{1}, RowId{5}, kDim);
      RateClock clock;
      AdaptiveTables updates(GetParam(), tables, clock);
      StageClock stages;
      std::vector<PlainRows> plain(2, PlainRows(GetParam(), kDim));
      for (int s = 1; s <= 60; ++s) {
        const std::array<MadeUpBatch, 2> batches = {made_up(rng, kRows, kDim),
                                                    made_up(rng, 5, kDim)};
        const double rate = 0.05 / (1 + 0.1 * s);
        std::vector<TableGradient> gradients;
        for (std::size_t k = 0; k < 2; ++k) {
          gradients.push_back(
              {&batches[k].bags, mean ? Pooling::mean : Pooling::sum, batches[k].gradient.view()});
          plain[k].step(rate, gradients_by_row(batches[k], mean, 4.0, kDim));
        }
        updates.apply(clock.open({.learning_rate = rate, .divisor = 4.0}), gradients, stages);
      }
      for (std::size_t k = 0; k < 2; ++k) {
        ASSERT_FALSE(plain[k].weights.empty());
        for (const auto& [id, row] : plain[k].weights) {
          for (std::size_t j = 0; j < kDim; ++j) {
            EXPECT_NEAR(tables[k].row(id)[j], row[j], 2e-6) << threads << " threads";
          }
        }
      }
    }
  }
  set_thread_count(before);
}

// What PyTorch calls lazy: a row without a gradient keeps its weights and moments, unlike under
// dense Adam, whose moments would go on moving it.
TEST_P(Adaptive, RowsThatNoBagNamesAreLeftAlone) {
  std::vector<Table> tables;
  tables.emplace_back(TableId{0}, RowId{10}, 2);
  RateClock clock;
  AdaptiveTables updates(GetParam(), tables, clock);
  StageClock stages;
  const auto step = [&](RowId row) {
    const Bags bags{.offsets = {0, 1}, .ids = {row}, .weights = {}};
    Matrix gradient(1, 2);
    gradient.fill(1.0f);
    const TableGradient one = {&bags, Pooling::sum, gradient.view()};
    updates.apply(clock.open({.learning_rate = 0.1}), {&one, 1}, stages);
  };
  step(3);
  const float moved = tables[0].row(3)[0];
  EXPECT_LT(moved, 0.0f);
  for (int i = 0; i < 20; ++i) step(4);
  EXPECT_EQ(tables[0].row(3)[0], moved);
  EXPECT_EQ(tables[0].row(5)[0], 0.0f);
  EXPECT_TRUE(updates.settled_through(0).empty()) << "no row ever waits";
}

INSTANTIATE_TEST_SUITE_P(Rules, Adaptive, testing::Values(TableRule::adam, TableRule::adagrad),
                         [](const auto& which) {
                           return std::string(table_rule_name(which.param));
                         });

TEST(AdaptiveTables, TakeNoTablesThatReceiveNoise) {
  std::vector<Table> tables;
  tables.emplace_back(TableId{0}, RowId{10}, 2);
  const NoiseSource noise(Seed::fixed(1));
  for (const NoisePolicy policy :
       {NoisePolicy::every_row, NoisePolicy::touched_rows, NoisePolicy::lazy_aggregated}) {
    EXPECT_THROW(make_table_optimizer({.rule = TableRule::adam, .policy = policy}, tables, noise),
                 InternalError);
  }
  RateClock clock;
  EXPECT_THROW(clock.open({.learning_rate = 0.1, .noise_std = 1.0}), InternalError);
}

}  // namespace
}  // namespace lazydp
