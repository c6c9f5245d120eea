#pragma once
// Counts calls of operator new in this program, and makes one of them fail.

#include <atomic>
#include <cstdint>
#include <limits>

namespace lazydp::oracle {

std::atomic<std::uint64_t>& allocations();

// The allocation with this number throws std::bad_alloc; none, unless a test sets it.
inline constexpr std::uint64_t kNoAllocation = std::numeric_limits<std::uint64_t>::max();
std::atomic<std::uint64_t>& failing_allocation();

}  // namespace lazydp::oracle
