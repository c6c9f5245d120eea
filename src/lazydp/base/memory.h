#pragma once
// Large allocations, how much memory this process may still take, and how much it has taken.

#include <cstddef>
#include <cstdint>

namespace lazydp {

// Gigabytes of zeroed memory, in huge pages where the system has them.
//
// Each access to a random row of a large table misses in the address translation unless pages are
// huge, and each page costs a fault at its first touch. Both are paid here: pages are advised huge
// and touched in parallel when the memory is allocated, never inside a training step.
class HugeMemory {
 public:
  HugeMemory() = default;
  explicit HugeMemory(std::size_t bytes);  // throws UserError when the system lacks the memory
  HugeMemory(HugeMemory&& other) noexcept;
  HugeMemory& operator=(HugeMemory&& other) noexcept;
  HugeMemory(const HugeMemory&) = delete;
  HugeMemory& operator=(const HugeMemory&) = delete;
  ~HugeMemory();

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Moves memory of the caller into huge pages where the system has them; its addresses stay. Parts
// that can't be moved, for example of a mapped file, stay as they are.
void collapse_into_huge_pages(void* data, std::size_t bytes);

// Returns the bytes that the system has to give: the smaller of the machine's available memory and
// what the control group leaves. Returns the largest number of the type if neither can be read.
std::uint64_t available_memory();

// Returns the most bytes that were ever resident.
std::uint64_t peak_resident_memory();

}  // namespace lazydp
