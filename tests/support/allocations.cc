#include "tests/support/allocations.h"

#include <cstdlib>
#include <new>

namespace lazydp::oracle {

std::atomic<std::uint64_t>& allocations() {
  static std::atomic<std::uint64_t> count{0};
  return count;
}

std::atomic<std::uint64_t>& failing_allocation() {
  static std::atomic<std::uint64_t> number{kNoAllocation};
  return number;
}

}  // namespace lazydp::oracle

// Not inlined: g++ would see free() take what it believes is another operator new's.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (lazydp::oracle::allocations()++ == lazydp::oracle::failing_allocation()) {
    throw std::bad_alloc();
  }
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
