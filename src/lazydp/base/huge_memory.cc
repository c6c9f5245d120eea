#include "lazydp/base/huge_memory.h"

#include <sys/mman.h>

#include <string>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"

namespace lazydp {

HugeMemory::HugeMemory(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) {
    bytes_ = 0;
    throw UserError("cannot allocate " + std::to_string(bytes) +
                    " bytes; choose a smaller model or --scale");
  }
  data_ = p;
  madvise(p, bytes, MADV_HUGEPAGE);  // advice: a kernel without huge pages may refuse
  constexpr std::size_t kBlock = std::size_t{64} << 20;
  constexpr std::size_t kPage = 4096;
  parallel_blocks(bytes, kBlock, [p](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; i += kPage) static_cast<volatile char*>(p)[i] = 0;
  });
}

HugeMemory::HugeMemory(HugeMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

HugeMemory& HugeMemory::operator=(HugeMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

HugeMemory::~HugeMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

}  // namespace lazydp
