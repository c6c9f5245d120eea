#pragma once
// Dense row-major matrices of floats: one that owns its memory, and views of memory that has
// another owner.

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace lazydp {

inline constexpr std::size_t kCacheLine = 64;

// A float array that starts on a cache line and keeps its memory when it shrinks.
class AlignedBuffer {
 public:
  // Makes room for `size` floats; their values are unspecified. Allocates a quarter more than asked
  // and never gives memory back, so that a loop over batches of varying size soon stops allocating.
  void reserve(std::size_t size) {
    if (size <= capacity_) return;
    const std::size_t capacity = size + size / 4 + kCacheLine;
    const std::size_t bytes = (capacity * sizeof(float) + kCacheLine - 1) / kCacheLine * kCacheLine;
    values_.reset(static_cast<float*>(std::aligned_alloc(kCacheLine, bytes)));
    if (!values_) {
      capacity_ = 0;
      throw std::bad_alloc();
    }
    capacity_ = capacity;
  }

  float* data() { return values_.get(); }
  const float* data() const { return values_.get(); }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  std::unique_ptr<float, Free> values_;
  std::size_t capacity_ = 0;
};

// A view of rows of `cols` floats, each `stride` floats after the one before. `T` is float or const
// float.
template <class T>
struct BasicMatrixView {
  T* data = nullptr;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t stride = 0;

  std::span<T> row(std::size_t i) const { return {data + i * stride, cols}; }

  // Returns rows [first, first + count).
  BasicMatrixView rows_from(std::size_t first, std::size_t count) const {
    return {data + first * stride, count, cols, stride};
  }
  // Returns columns [first, first + count).
  BasicMatrixView cols_from(std::size_t first, std::size_t count) const {
    return {data + first, rows, count, stride};
  }

  operator BasicMatrixView<const T>() const  // NOLINT(google-explicit-constructor): adds const
      requires(!std::is_const_v<T>) {
    return {data, rows, cols, stride};
  }
};

using MatrixView = BasicMatrixView<float>;
using ConstMatrixView = BasicMatrixView<const float>;

class Matrix {
 public:
  Matrix() = default;
  Matrix(std::size_t rows, std::size_t cols) {
    reshape(rows, cols);
    fill(0.0f);
  }

  // Leaves the values unspecified. Keeps the memory when the matrix shrinks.
  void reshape(std::size_t rows, std::size_t cols) {
    values_.reserve(rows * cols);
    rows_ = rows;
    cols_ = cols;
  }
  void fill(float value) { std::fill_n(values_.data(), rows_ * cols_, value); }

  std::size_t rows() const { return rows_; }
  std::size_t cols() const { return cols_; }
  float* data() { return values_.data(); }
  const float* data() const { return values_.data(); }
  std::span<float> row(std::size_t i) { return {values_.data() + i * cols_, cols_}; }
  std::span<const float> row(std::size_t i) const { return {values_.data() + i * cols_, cols_}; }
  MatrixView view() { return {values_.data(), rows_, cols_, cols_}; }
  ConstMatrixView view() const { return {values_.data(), rows_, cols_, cols_}; }

 private:
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  AlignedBuffer values_;
};

}  // namespace lazydp
