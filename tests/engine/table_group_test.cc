// Tables of a group move together as each does by itself, on any number of threads.

#include "lazydp/engine/table_group.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "lazydp/base/parallel.h"

namespace lazydp {
namespace {

constexpr std::array<RowId, 5> kRows = {5000, 40, 700, 3, 700};
constexpr std::size_t kDim = 24;
constexpr std::size_t kBags = 300;
constexpr std::size_t kSteps = 3;

enum class Way { one_by_one, together };

// Look-ups of one table in one step: the first table has most of the work.
Bags make_bags(std::size_t table, std::size_t step) {
  std::mt19937 rng(static_cast<unsigned>(10 * step + table));
  Bags bags;
  for (std::size_t b = 0; b < kBags; ++b) {
    for (std::size_t k = table == 0 ? 30 : rng() % 4; k > 0; --k) {
      bags.ids.push_back(static_cast<RowId>(rng() % static_cast<unsigned>(kRows[table])));
    }
    bags.offsets.push_back(bags.ids.size());
  }
  return bags;
}

// What a few steps leave in all tables, after everything that they pooled.
std::vector<float> run(Way way, int threads, NoisePolicy policy) {
  const int before = thread_count();
  set_thread_count(threads);
  TableGroup group(NoiseSource(Seed::fixed(3)), {.policy = policy});
  std::vector<std::vector<float>> weights;
  for (const RowId rows : kRows) weights.emplace_back(static_cast<std::size_t>(rows) * kDim, 1.0f);
  for (std::size_t k = 0; k < kRows.size(); ++k) {
    group.add({.id = static_cast<TableId>(k),
               .weights = weights[k],
               .momentum = {},
               .dim = kDim,
               .padding = k == 2 ? std::optional<RowId>(7) : std::nullopt});
  }
  std::vector<float> seen;
  for (std::size_t t = 0; t < kSteps; ++t) {
    std::vector<Bags> bags;
    std::vector<Matrix> pooled;
    for (std::size_t k = 0; k < kRows.size(); ++k) {
      bags.push_back(make_bags(k, t));
      const Matrix& out = pooled.emplace_back(kBags, kDim);
      if (way == Way::together) {
        group.settle_and_pool(k, bags[k], Pooling::mean, pooled[k].view());
      } else {
        group.settle(k, bags[k].ids);
        const Table table = Table::borrow(static_cast<TableId>(k), weights[k], kDim);
        pool(table, bags[k], Pooling::mean, pooled[k].view());
      }
      seen.insert(seen.end(), out.data(), out.data() + kBags * kDim);
    }
    group.open({.learning_rate = 0.5, .divisor = 10.0, .noise_std = 1.0});
    std::vector<TableGroup::Update> updates;
    for (std::size_t k = 0; k < kRows.size(); ++k) {
      updates.push_back({k, {&bags[k], Pooling::mean, pooled[k].view()}});
    }
    if (way == Way::together) {
      group.apply(updates);
    } else {
      for (const auto& [table, gradient] : updates) group.apply(table, gradient);
    }
  }
  group.settle_all();
  for (const auto& table : weights) seen.insert(seen.end(), table.begin(), table.end());
  set_thread_count(before);
  return seen;
}

class Policies : public testing::TestWithParam<NoisePolicy> {};

TEST_P(Policies, TablesMoveTogetherAsEachByItself) {
  const std::vector<float> expected = run(Way::one_by_one, 1, GetParam());
  for (const int threads : {1, 2, 3}) {
    EXPECT_EQ(run(Way::one_by_one, threads, GetParam()), expected) << threads;
    EXPECT_EQ(run(Way::together, threads, GetParam()), expected) << threads;
  }
}

INSTANTIATE_TEST_SUITE_P(, Policies,
                         testing::Values(NoisePolicy::lazy_aggregated, NoisePolicy::lazy_each_step,
                                         NoisePolicy::every_row, NoisePolicy::touched_rows));

}  // namespace
}  // namespace lazydp
