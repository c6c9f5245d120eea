#pragma once
// How much memory this process may still take, and how much it has taken.

#include <cstdint>

namespace lazydp {

// What the system has to give: the smaller of the machine's available memory and what the control
// group leaves. The largest number there is if neither can be read.
std::uint64_t available_memory();

// The most that was ever resident.
std::uint64_t peak_resident_memory();

}  // namespace lazydp
