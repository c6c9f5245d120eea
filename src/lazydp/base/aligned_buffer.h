#pragma once
// A float array that starts on a cache line and keeps its memory when it shrinks.

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace lazydp {

inline constexpr std::size_t kCacheLine = 64;

class AlignedBuffer {
 public:
  // Afterwards there is room for `size` floats; their values are unspecified. Memory grows by a
  // quarter more than asked and is never given back, so that a loop over batches of varying size
  // soon stops allocating.
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

}  // namespace lazydp
