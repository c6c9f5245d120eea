// Tables: memory, borrowing and first values; and pooling on several threads.

#include "lazydp/embedding/table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/embedding/first_weights.h"
#include "lazydp/embedding/pooling.h"

namespace lazydp {
namespace {

TEST(Table, StartsAtZeroOnACacheLine) {
  const Table table(3, 1000, 24);
  EXPECT_EQ(table.id(), 3);
  EXPECT_EQ(table.bytes(), 1000u * 24u * 4u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(table.row(0).data()) % kCacheLine, 0u);
  for (RowId r = 0; r < 1000; ++r) {
    for (const float w : table.row(r)) ASSERT_EQ(w, 0.0f);
  }
}

TEST(Table, BorrowedWeightsStayTheirOwners) {
  std::vector<float> weights(12, 1.0f);
  Table table = Table::borrow(0, weights, 4);
  EXPECT_EQ(table.rows(), 3);
  table.row(2)[1] = 7.0f;
  EXPECT_EQ(weights[9], 7.0f);
}

TEST(Table, AnAbsurdSizeIsAUsersMistakeNotACrash) {
  EXPECT_THROW(Table(0, RowId{1} << 39, 4096), UserError);
}

TEST(Initialise, IsUniformWithinTheBoundAndAPureFunctionOfTheSeed) {
  Table a(1, 10'000, 20);
  Table b(1, 10'000, 20);
  const int before = thread_count();
  set_thread_count(1);
  initialise(a, Seed::fixed(3));
  set_thread_count(2);
  initialise(b, Seed::fixed(3));
  set_thread_count(before);
  double sum = 0.0;
  double square = 0.0;
  for (RowId r = 0; r < a.rows(); ++r) {
    for (std::size_t j = 0; j < a.dim(); ++j) {
      const double w = a.row(r)[j];
      ASSERT_EQ(a.row(r)[j], b.row(r)[j]);
      ASSERT_LE(std::abs(w), 0.01);
      sum += w;
      square += w * w;
    }
  }
  const double n = 200'000.0;
  const double std = 0.01 / std::sqrt(3.0);
  EXPECT_NEAR(sum / n, 0.0, 5.0 * std / std::sqrt(n));
  EXPECT_NEAR(square / n / (std * std), 1.0, 5.0 * std::sqrt(0.8 / n));
}

TEST(Initialise, TablesAndSeedsDiffer) {
  Table a(1, 10, 8), other_table(2, 10, 8), other_seed(1, 10, 8);
  initialise(a, Seed::fixed(3));
  initialise(other_table, Seed::fixed(3));
  initialise(other_seed, Seed::fixed(4));
  EXPECT_NE(a.row(0)[0], other_table.row(0)[0]);
  EXPECT_NE(a.row(0)[0], other_seed.row(0)[0]);
}

// <pool(w), d> = <w, adjoint(d)>: one is the transpose of the other.
TEST(Pooling, AddingGradientsIsTheAdjointOfPooling) {
  std::mt19937 rng(1);
  std::normal_distribution<float> normal;
  for (const Pooling mode : {Pooling::sum, Pooling::mean}) {
    Table w(0, 300, 12), g(0, 300, 12);
    for (RowId r = 0; r < 300; ++r) {
      for (float& x : w.row(r)) x = normal(rng);
    }
    Bags bags;
    for (int b = 0; b < 500; ++b) {
      for (auto k = rng() % 6; k > 0; --k) bags.ids.push_back(static_cast<RowId>(rng() % 300));
      bags.offsets.push_back(bags.ids.size());
    }
    constexpr std::size_t kFloats = std::size_t{500} * 12;
    Matrix pooled(500, 12), d(500, 12);
    for (std::size_t i = 0; i < kFloats; ++i) d.data()[i] = normal(rng);
    pool(w, bags, mode, pooled.view());
    add_gradient(g, {&bags, mode, d.view()}, 1.0f, {});
    double left = 0.0;
    double right = 0.0;
    for (std::size_t i = 0; i < kFloats; ++i) left += double(pooled.data()[i]) * d.data()[i];
    for (RowId r = 0; r < 300; ++r) {
      for (std::size_t j = 0; j < 12; ++j) right += double(w.row(r)[j]) * g.row(r)[j];
    }
    EXPECT_NEAR(left, right, 1e-3 * (1.0 + std::abs(left)));
  }
}

// A rank may receive many bags for one table and none for another.
TEST(Pooling, TablesOfABatchMayHaveDifferentNumbersOfBags) {
  std::vector<Table> tables;
  std::vector<Bags> bags(3);
  std::vector<Matrix> pooled;
  std::vector<MatrixView> views;
  const std::size_t counts[] = {0, 300, 5};
  for (std::size_t k = 0; k < 3; ++k) {
    Table& table = tables.emplace_back(static_cast<TableId>(k), 10, 4);
    for (RowId r = 0; r < 10; ++r) std::ranges::fill(table.row(r), static_cast<float>(r + 1));
    for (std::size_t b = 0; b < counts[k]; ++b) {
      bags[k].ids.push_back(static_cast<RowId>(b % 10));
      bags[k].offsets.push_back(bags[k].ids.size());
    }
    views.push_back(pooled.emplace_back(counts[k], 4).view());
  }
  pool(tables, bags, Pooling::sum, views);
  for (std::size_t k = 0; k < 3; ++k) {
    for (std::size_t b = 0; b < counts[k]; ++b) {
      for (const float x : views[k].row(b)) EXPECT_EQ(x, static_cast<float>(b % 10 + 1));
    }
  }
}

}  // namespace
}  // namespace lazydp
