#include "lazydp/model/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "lazydp/base/parallel.h"
#include "tests/model/fill.h"

namespace lazydp {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kUntouched = 12345.0f;

// A matrix inside a wider one, so that its stride is not its width.
struct Strided {
  Strided(std::size_t rows, std::size_t cols, std::size_t margin, std::uint64_t seed)
      : memory(rows, cols + margin), view(memory.view().cols_from(margin / 2, cols)) {
    memory.fill(kUntouched);
    testing::Numbers numbers(seed);
    for (std::size_t i = 0; i < rows; ++i) numbers.fill(view.row(i));
  }
  Matrix memory;
  MatrixView view;
};

struct Sizes {
  std::size_t m, n, k, margin;
};

// Rows and columns around every special case: none, one, odd, several cache blocks.
constexpr Sizes kSizes[] = {{0, 5, 7, 0},    {5, 0, 7, 0},   {4, 3, 0, 2},     {1, 1, 1, 0},
                            {1, 9, 4, 3},    {9, 1, 4, 3},   {9, 1, 1, 5},     {6, 5, 1, 0},
                            {7, 5, 3, 1},    {13, 17, 1, 4}, {64, 33, 129, 7}, {131, 257, 65, 2},
                            {300, 3, 500, 1}};

// Compares c with the plain double loop over term(i, j, l), and checks that c's margins are intact.
void expect_product(const Strided& c, const Sizes& s,
                    const std::function<double(std::size_t, std::size_t, std::size_t)>& term) {
  for (std::size_t i = 0; i < s.m; ++i) {
    for (std::size_t j = 0; j < s.n; ++j) {
      double sum = 0.0;
      for (std::size_t l = 0; l < s.k; ++l) sum += term(i, j, l);
      ASSERT_NEAR(c.view.row(i)[j], sum, 1e-6 * std::sqrt(static_cast<double>(s.k + 1)) * 4)
          << "m " << s.m << " n " << s.n << " k " << s.k << " at " << i << "," << j;
    }
    for (std::size_t j = 0; j < s.margin; ++j) {
      const std::size_t column = j < s.margin / 2 ? j : j + s.n;
      ASSERT_EQ(c.memory.row(i)[column], kUntouched);
    }
  }
}

Strided full_of_nan(const Sizes& s) {
  Strided c(s.m, s.n, s.margin, 0);
  for (std::size_t i = 0; i < s.m; ++i) std::ranges::fill(c.view.row(i), kNan);
  return c;
}

TEST(Gemm, TimesIsTheNaiveProduct) {
  for (const Sizes& s : kSizes) {
    const Strided a(s.m, s.k, s.margin, 1);
    const Strided b(s.k, s.n, s.margin, 2);
    const Strided c = full_of_nan(s);
    times(a.view, b.view, c.view);
    expect_product(c, s, [&](std::size_t i, std::size_t j, std::size_t l) {
      return static_cast<double>(a.view.row(i)[l]) * b.view.row(l)[j];
    });
  }
}

TEST(Gemm, TimesTransposeIsTheNaiveProduct) {
  for (const Sizes& s : kSizes) {
    const Strided a(s.m, s.k, s.margin, 3);
    const Strided b(s.n, s.k, s.margin, 4);
    const Strided c = full_of_nan(s);
    times_transpose(a.view, b.view, c.view);
    expect_product(c, s, [&](std::size_t i, std::size_t j, std::size_t l) {
      return static_cast<double>(a.view.row(i)[l]) * b.view.row(j)[l];
    });
  }
}

TEST(Gemm, TransposeTimesIsTheNaiveProductOnOneThreadAndOnAll) {
  for (const Sizes& s : kSizes) {
    const Strided a(s.k, s.m, s.margin, 5);
    const Strided b(s.k, s.n, s.margin, 6);
    const auto term = [&](std::size_t i, std::size_t j, std::size_t l) {
      return static_cast<double>(a.view.row(l)[i]) * b.view.row(l)[j];
    };
    const Strided serial = full_of_nan(s);
    transpose_times(a.view, b.view, serial.view);
    expect_product(serial, s, term);
    const Strided parallel = full_of_nan(s);
    parallel_transpose_times(a.view, b.view, parallel.view);
    expect_product(parallel, s, term);
  }
}

TEST(Gemm, ANanStaysInItsRow) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{37}}) {
    Strided a(50, 40, 0, 7);
    const Strided b(n, 40, 0, 8);
    const Strided clean(50, n, 0, 0);
    const Strided dirty(50, n, 0, 0);
    times_transpose(a.view, b.view, clean.view);
    a.view.row(20)[3] = kNan;
    times_transpose(a.view, b.view, dirty.view);
    for (std::size_t i = 0; i < 50; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        if (i == 20) {
          EXPECT_TRUE(std::isnan(dirty.view.row(i)[j]));
        } else {
          EXPECT_EQ(dirty.view.row(i)[j], clean.view.row(i)[j]);
        }
      }
    }
  }
}

// Checks that `multiply` writes the same bits into an m x n matrix on 1, 2, 3 and 4 threads.
void expect_same_bits_on_any_threads(const Sizes& s,
                                     const std::function<void(MatrixView)>& multiply) {
  const int before = thread_count();
  std::vector<Strided> results;
  for (const int threads : {1, 2, 3, 4}) {
    set_thread_count(threads);
    results.push_back(full_of_nan(s));
    multiply(results.back().view);
  }
  set_thread_count(before);
  for (const Strided& result : results) {
    EXPECT_EQ(std::memcmp(result.memory.data(), results[0].memory.data(),
                          s.m * (s.n + s.margin) * sizeof(float)),
              0);
  }
}

TEST(Gemm, TheWeightGradientHasTheSameBitsOnAnyNumberOfThreads) {
  for (const Sizes& s : {Sizes{1, 256, 300, 0}, Sizes{130, 87, 301, 1}, Sizes{1100, 479, 65, 0}}) {
    const Strided a(s.k, s.m, s.margin, 9);
    const Strided b(s.k, s.n, s.margin, 10);
    expect_same_bits_on_any_threads(
        s, [&](MatrixView c) { parallel_transpose_times(a.view, b.view, c); });
  }
}

// Outside a loop: the library must not cut the sum for threads of its own.
TEST(Gemm, OneProductHasTheSameBitsOnAnyNumberOfThreads) {
  for (const Sizes& s : {Sizes{1, 4, 8192, 0}, Sizes{300, 257, 129, 1}}) {
    const Strided a(s.m, s.k, s.margin, 11);
    const Strided b(s.k, s.n, s.margin, 12);
    expect_same_bits_on_any_threads(s, [&](MatrixView c) { times(a.view, b.view, c); });
  }
}

TEST(Gemm, BlocksOfExamplesAreEvenInNumberAndNearlyEqual) {
  for (const std::size_t batch :
       {8ul, 63ul, 128ul, 250ul, 1000ul, 1024ul, 2048ul, 2101ul, 4096ul}) {
    const std::size_t block = examples_per_block(batch);
    const std::size_t blocks = (batch + block - 1) / block;
    EXPECT_EQ(blocks % 2, 0u) << batch;
    EXPECT_LE(block, 256u) << batch;
    EXPECT_GE((batch - (blocks - 1) * block) * 2, block) << "the last block of " << batch;
  }
  EXPECT_GT(examples_per_block(0), 0u);
  EXPECT_EQ(examples_per_block(2048), 256u);
  EXPECT_EQ(examples_per_block(1024), 128u);
}

}  // namespace
}  // namespace lazydp
