#pragma once
// Memory that runs out when a test says so: this program's operator new can be told to throw.

#include <atomic>
#include <new>

namespace lazydp::oracle {

// Returns the number of allocations that succeed before one throws std::bad_alloc; below 0: all do.
std::atomic<long>& allocations_left();

// Calls `body` with memory that runs out after `allocations` of them. Returns whether it did.
template <class Body>
bool runs_out_of_memory(long allocations, Body&& body) {
  allocations_left() = allocations;
  bool ran_out = false;
  try {
    body();
  } catch (const std::bad_alloc&) {
    ran_out = true;
  }
  allocations_left() = -1;
  return ran_out;
}

}  // namespace lazydp::oracle
