#include "lazydp/data/synthetic/click_task.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "lazydp/base/parallel.h"
#include "logistic_regression.h"
#include "statistics.h"

namespace lazydp {
namespace {

Batch read_all(const Dataset& dataset) {
  std::vector<ExampleId> examples(dataset.size());
  std::iota(examples.begin(), examples.end(), 0);
  Batch batch;
  dataset.read(examples, batch);
  return batch;
}

std::array<std::uint32_t, kClickTables> ids_of(const Batch& batch, std::size_t i) {
  std::array<std::uint32_t, kClickTables> ids;
  for (std::size_t k = 0; k < ids.size(); ++k) {
    ids[k] = static_cast<std::uint32_t>(batch.bags[k].of(i)[0]);
  }
  return ids;
}

// FNV-1a over every bit of every example.
std::uint64_t fingerprint(const Batch& batch) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  const auto add = [&](std::uint64_t word) { hash = (hash ^ word) * 0x100000001B3u; };
  for (std::size_t i = 0; i < batch.size; ++i) {
    for (const float x : batch.dense.row(i)) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &x, sizeof(bits));
      add(bits);
    }
    for (const std::uint32_t id : ids_of(batch, i)) add(id);
    add(batch.labels[i] == 1.0f ? 1 : 0);
  }
  return hash;
}

double share_of_positives(const Batch& batch) {
  return static_cast<double>(std::ranges::count(batch.labels, 1.0f)) /
         static_cast<double>(batch.size);
}

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

// One task, made once for all the tests of its size.
struct Made {
  explicit Made(ClickSize size) : truth(size), task(make_click_task(size)) {}
  ClickTruth truth;
  ClickTask task;
};

const Made& made(ClickSize size) {
  static const Made small(ClickSize::small);
  static const Made large(ClickSize::large);
  return size == ClickSize::small ? small : large;
}

class EverySize : public testing::TestWithParam<ClickSize> {};

INSTANTIATE_TEST_SUITE_P(ClickTask, EverySize, testing::Values(ClickSize::small, ClickSize::large),
                         [](const auto& param_info) {
                           return param_info.param == ClickSize::small ? "Small" : "Large";
                         });

TEST_P(EverySize, HasTheShapeThatIsFixed) {
  const bool small = GetParam() == ClickSize::small;
  const ClickTask& task = made(GetParam()).task;
  EXPECT_EQ(task.train->size(), small ? 200'000u : 1'000'000u);
  EXPECT_EQ(task.held_out->size(), 50'000u);
  for (const Dataset* dataset : {task.train.get(), task.held_out.get()}) {
    EXPECT_EQ(dataset->dense_features(), 13u);
    EXPECT_EQ(dataset->table_rows(), std::vector<RowId>(8, small ? 10'000 : 100'000));
    const Batch batch = read_all(*dataset);
    for (std::size_t k = 0; k < 8; ++k) {
      const auto [least, most] = std::ranges::minmax(batch.bags[k].ids);
      EXPECT_EQ(least, 0);
      EXPECT_LT(most, dataset->table_rows()[k]);
      EXPECT_GT(most, dataset->table_rows()[k] / 100 * 99);
    }
    EXPECT_TRUE(std::ranges::all_of(batch.labels, [](float y) { return y == 0.0f || y == 1.0f; }));
  }
}

TEST_P(EverySize, BayesAucIsFourFifthsAndAThirdOfTheLabelsIsPositive) {
  const ClickTask& task = made(GetParam()).task;
  EXPECT_NEAR(task.bayes_auc, 0.80, 0.002);
  EXPECT_GT(task.bayes_logloss, 0.49);
  EXPECT_LT(task.bayes_logloss, 0.51);
  EXPECT_NEAR(share_of_positives(read_all(*task.train)), 1.0 / 3.0, 0.005);
  EXPECT_NEAR(share_of_positives(read_all(*task.held_out)), 1.0 / 3.0, 0.01);
}

// Uses the labels that were drawn. Their AUC has a standard deviation of about 0.002.
TEST_P(EverySize, LabelsFollowTheTruth) {
  const auto& [truth, task] = made(GetParam());
  const Batch batch = read_all(*task.held_out);
  std::vector<double> p(batch.size);
  double surplus = 0.0;
  double variance = 0.0;
  double loss = 0.0;
  for (std::size_t i = 0; i < batch.size; ++i) {
    p[i] = truth.probability(ids_of(batch, i), batch.dense.row(i));
    surplus += double{batch.labels[i]} - p[i];
    variance += p[i] * (1.0 - p[i]);
    loss -= std::log(batch.labels[i] == 1.0f ? p[i] : 1.0 - p[i]);
  }
  EXPECT_LT(std::abs(surplus) / std::sqrt(variance), kLargestZ);
  EXPECT_NEAR(auc(p, batch.labels), task.bayes_auc, 0.01);
  EXPECT_NEAR(loss / static_cast<double>(batch.size), task.bayes_logloss, 0.01);
}

// The constants of click_truth.cc came from this search over a million examples.
TEST_P(EverySize, ScaleAndShiftAreWhereASearchFindsThem) {
  const auto& [truth, task] = made(GetParam());
  const Batch batch = read_all(*task.held_out);
  std::vector<double> raw(batch.size);
  for (std::size_t i = 0; i < batch.size; ++i) {
    raw[i] = truth.raw_logit(ids_of(batch, i), batch.dense.row(i));
  }
  std::vector<double> p(raw.size());
  const auto mean_at = [&](double scale, double shift) {
    for (std::size_t i = 0; i < raw.size(); ++i) p[i] = sigmoid(scale * raw[i] + shift);
    return std::accumulate(p.begin(), p.end(), 0.0) / static_cast<double>(p.size());
  };
  const auto bisect = [](double low, double high, auto too_low) {
    for (int i = 0; i < 16; ++i)
      (too_low(std::midpoint(low, high)) ? low : high) = std::midpoint(low, high);
    return std::midpoint(low, high);
  };
  double shift = 0.0;
  const double scale = bisect(0.1, 1.0, [&](double s) {
    shift = bisect(-4.0, 0.0, [&](double c) { return mean_at(s, c) < 1.0 / 3.0; });
    return bayes_scores(p).auc < 0.80;
  });
  EXPECT_NEAR(truth.shape().scale, scale, 0.02 * scale);
  EXPECT_NEAR(truth.shape().shift, shift, 0.03);
}

TEST_P(EverySize, EveryMachineAndEveryNumberOfThreadsMakesTheSameExamples) {
  const bool small = GetParam() == ClickSize::small;
  const std::uint64_t train = small ? 7462169245027993304u : 12795335993736651458u;
  const std::uint64_t held_out = small ? 18434252840037811157u : 17158315751078491778u;
  const int threads = thread_count();
  for (const int n : {1, 2, 3}) {
    set_thread_count(n);
    const ClickTask task = make_click_task(GetParam());
    EXPECT_EQ(fingerprint(read_all(*task.train)), train) << n;
    EXPECT_EQ(fingerprint(read_all(*task.held_out)), held_out) << n;
    EXPECT_EQ(task.bayes_auc, made(GetParam()).task.bayes_auc);
  }
  set_thread_count(threads);
}

TEST(ClickTask, ReadsExamplesInTheOrderAskedFor) {
  const Dataset& train = *made(ClickSize::small).task.train;
  const Batch all = read_all(train);
  const std::vector<ExampleId> wanted = {199'999, 5, 5, 0};
  Batch batch;
  train.read(wanted, batch);
  ASSERT_EQ(batch.size, 4u);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(ids_of(batch, i), ids_of(all, wanted[i]));
    EXPECT_EQ(batch.labels[i], all.labels[wanted[i]]);
    EXPECT_TRUE(std::ranges::equal(batch.dense.row(i), all.dense.row(wanted[i])));
  }
  train.read({}, batch);
  EXPECT_EQ(batch.size, 0u);
  EXPECT_EQ(batch.bags.size(), 8u);
}

// Between pairs of tables only: a pair's dot product does not depend on the other tables.
TEST(ClickTruth, InteractionsAreDotProductsOfPairs) {
  const ClickTruth& truth = made(ClickSize::small).truth;
  constexpr std::uint32_t kNone = 9999;  // has neither effect nor vector
  const std::vector<float> dense(kClickFeatures, 0.0f);
  const auto raw = [&](std::initializer_list<std::pair<std::size_t, std::uint32_t>> set) {
    std::array<std::uint32_t, kClickTables> ids;
    ids.fill(kNone);
    for (const auto& [table, id] : set) ids[table] = id;
    return truth.raw_logit(ids, dense);
  };
  EXPECT_EQ(raw({}), 0.0);
  EXPECT_EQ(raw({{2, 500}}), 0.0);
  EXPECT_NE(raw({{2, 499}}), 0.0);
  const auto pair = [&](std::size_t a, std::uint32_t x, std::size_t b, std::uint32_t y) {
    return raw({{a, x}, {b, y}}) - raw({{a, x}}) - raw({{b, y}});
  };
  EXPECT_GT(std::abs(pair(0, 3, 5, 99)), 1e-6);
  EXPECT_NEAR(pair(0, 3, 5, 100), 0.0, 1e-12);
  const double three = raw({{0, 3}, {5, 99}, {7, 0}});
  EXPECT_NEAR(three,
              raw({{0, 3}}) + raw({{5, 99}}) + raw({{7, 0}}) + pair(0, 3, 5, 99) +
                  pair(0, 3, 7, 0) + pair(5, 99, 7, 0),
              1e-12);
}

TEST(ClickTask, ALinearModelLearnsMostOfIt) {
  const ClickTask& task = made(ClickSize::small).task;
  const double reached = fit_and_score(*task.train, *task.held_out);
  RecordProperty("auc", std::to_string(reached));
  EXPECT_GT(reached, 0.76);
  EXPECT_LT(reached, task.bayes_auc);
}

}  // namespace
}  // namespace lazydp
