#include "lazydp/kernels/noise.h"

#include "lazydp/kernels/noise_body.h"
#include "lazydp/kernels/simd_portable.h"

namespace lazydp {

std::span<const NoisePath> noise_paths() {
  static const std::vector<NoisePath> paths = [] {
    std::vector<NoisePath> found = {kPortablePath};
#if defined(__x86_64__)
    for (const NoisePath* path : {&kAesniPath, &kVaesPath, &kAvx512Path}) {
      if (path->available()) found.push_back(*path);
    }
#endif
    return found;
  }();
  return paths;
}

const NoisePath& best_noise_path() {
  static const NoisePath& best = noise_paths().back();
  return best;
}

void add_noise(const AesKey& key, const RowCounters& counters, std::span<const NoisyRow> rows,
               std::size_t dim) {
  best_noise_path().add_noise(key, counters, rows, dim);
}

void fill_normals(const AesKey& key, const RowCounters& counters, std::span<float> out) {
  best_noise_path().fill_normals(key, counters, out);
}

void fill_random(const AesKey& key, Counter first, std::span<AesBlock> out) {
  best_noise_path().fill_random(key, first, out);
}

const NoisePath kPortablePath = {
    "portable",
    [] { return true; },
    add_noise_body<PortableSimd>,
    fill_normals_body<PortableSimd>,
    fill_random_body<PortableSimd>,
};

}  // namespace lazydp
