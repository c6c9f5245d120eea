#pragma once
// Counts calls of operator new in this program, and lets one fail.

#include <atomic>
#include <cstdint>
#include <limits>

namespace lazydp::oracle {

std::atomic<std::uint64_t>& allocations();

// The allocation of this number throws std::bad_alloc; none, unless a test says so.
inline constexpr std::uint64_t kNoAllocation = std::numeric_limits<std::uint64_t>::max();
std::atomic<std::uint64_t>& failing_allocation();

}  // namespace lazydp::oracle
