#pragma once
// How much memory this process may still take, and how much it has taken.

#include <cstddef>
#include <cstdint>

namespace lazydp {

// Gigabytes of zeroed memory, in huge pages where the system has them.

// Random rows of a large table cost a miss in the address translation each unless pages are huge,
// and a page costs a fault at its first touch. Both are dealt with here: pages are advised huge and
// touched in parallel when the memory is made, never inside a training step.
class HugeMemory {
 public:
  HugeMemory() = default;
  explicit HugeMemory(std::size_t bytes);  // throws UserError when the system has no such memory
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

// What the system has to give: the smaller of the machine's available memory and what the control
// group leaves. The largest number there is if neither can be read.
std::uint64_t available_memory();

// The most that was ever resident.
std::uint64_t peak_resident_memory();

}  // namespace lazydp
