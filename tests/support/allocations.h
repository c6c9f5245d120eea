#pragma once
// Counts calls of operator new in this program, and makes one of them fail.

#include <atomic>
#include <cstdint>
#include <limits>
#include <new>

namespace lazydp::oracle {

std::atomic<std::uint64_t>& allocations();

// The allocation with this number throws std::bad_alloc; none, unless a test sets it.
inline constexpr std::uint64_t kNoAllocation = std::numeric_limits<std::uint64_t>::max();
std::atomic<std::uint64_t>& failing_allocation();

// Calls `body` with memory that runs out after `more` allocations. Returns whether it did.
template <class Body>
bool runs_out_of_memory(std::uint64_t more, Body&& body) {
  failing_allocation() = allocations() + more;
  bool ran_out = false;
  try {
    body();
  } catch (const std::bad_alloc&) {
    ran_out = true;
  }
  failing_allocation() = kNoAllocation;
  return ran_out;
}

}  // namespace lazydp::oracle
