#pragma once
// Counts calls of operator new in this program.

#include <atomic>
#include <cstdint>

namespace lazydp::oracle {

std::atomic<std::uint64_t>& allocations();

}  // namespace lazydp::oracle
