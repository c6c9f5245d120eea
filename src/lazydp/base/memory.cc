#include "lazydp/base/memory.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
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

void collapse_into_huge_pages(void* data, std::size_t bytes) {
  constexpr int kCollapse = 25;  // MADV_COLLAPSE of Linux 6.1, which older C libraries do not name
  constexpr std::uintptr_t kHuge = std::uintptr_t{2} << 20;
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t first = (address + kHuge - 1) / kHuge * kHuge;
  const std::uintptr_t last = (address + bytes) / kHuge * kHuge;
  if (first >= last) return;
  madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
  constexpr std::size_t kBlock = std::size_t{32} << 20;
  parallel_blocks(last - first, kBlock, [first](std::size_t begin, std::size_t end) {
    madvise(reinterpret_cast<void*>(first + begin), end - begin, kCollapse);
  });
}

namespace {

constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

std::uint64_t first_number(const char* path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : kUnknown;  // "max", which is not a number, means no limit
}

std::uint64_t left_of_machine() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::string unit;
  for (std::uint64_t kib = 0; file >> key >> kib; std::getline(file, unit)) {
    if (key == "MemAvailable:") return kib * 1024;
  }
  return kUnknown;
}

std::uint64_t left_of_control_group() {
  const std::uint64_t limit = first_number("/sys/fs/cgroup/memory.max");
  const std::uint64_t used = first_number("/sys/fs/cgroup/memory.current");
  if (limit == kUnknown || used == kUnknown) return kUnknown;
  return limit > used ? limit - used : 0;
}

}  // namespace

std::uint64_t available_memory() {
  return std::min(left_of_machine(), left_of_control_group());
}

std::uint64_t peak_resident_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace lazydp
