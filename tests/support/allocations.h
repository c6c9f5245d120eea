#pragma once
// Counts calls of operator new in this program. Include in exactly one file of a test program.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace lazydp::oracle {

inline std::atomic<std::uint64_t>& allocations() {
  static std::atomic<std::uint64_t> count{0};
  return count;
}

}  // namespace lazydp::oracle

// Not inlined: where g++ 12 inlines only one of a pair it believes that they do not match.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++lazydp::oracle::allocations();
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
