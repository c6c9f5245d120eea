#include "tests/noise/failing_memory.h"

#include <cstdlib>

namespace lazydp::oracle {

std::atomic<long>& allocations_left() {
  static std::atomic<long> left{-1};
  return left;
}

}  // namespace lazydp::oracle

// Not inlined: g++ would see free() take what it believes is another operator new's.
[[gnu::noinline]] void* operator new(std::size_t size) {
  std::atomic<long>& left = lazydp::oracle::allocations_left();
  if (left.load() >= 0 && left.fetch_sub(1) == 0) throw std::bad_alloc();
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
