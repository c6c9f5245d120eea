// Normals from the secure generator, beside torch's and the standard library's.

#include "lazydp/kernels/noise.h"

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "benchmarks/kernels/compare.h"
#include "benchmarks/kernels/kernels.h"
#include "lazydp/base/parallel.h"

namespace lazydp::bench {
namespace {

constexpr std::size_t kNormals = std::size_t{1} << 22;
constexpr std::size_t kBlock = std::size_t{1} << 11;  // stays in a core's cache

void fill(const NoisePath& path, std::vector<float>& out) {
  static const AesKey key = expand_key({1, 2, 3});
  parallel_blocks(kNormals, kBlock, [&](std::size_t begin, std::size_t) {
    thread_local std::vector<float> block(kBlock);
    path.fill_normals(key, {.high = begin, .refined_low = 1u << 20, .row_unit = 1}, block);
    out[begin / kBlock] = block[0];
  });
}

}  // namespace

void add_noise_benchmarks() {
  static std::vector<float> out(kNormals / kBlock);
  for (const NoisePath& path : noise_paths()) {
    for (const int threads : {1, 2}) {
      add(Timed{.name = "normals/" + std::string(path.name) + "/threads:" + std::to_string(threads),
                .threads = threads,
                .items = kNormals,
                .unit = "normal",
                .run = [&path] { fill(path, out); }});
    }
  }
  add(Timed{
      .name = "normals/std::normal_distribution", .items = kBlock, .unit = "normal", .run = [] {
        static std::mt19937 random(1);
        static std::normal_distribution<float> normal;
        for (std::size_t i = 0; i < kBlock; ++i) benchmark::DoNotOptimize(normal(random));
      }});
  add(Claim{.what = "normals, one core, VAES: 80 % of 1.75 G/s",
            .ours = "normals/vaes/threads:1",
            .items_per_second = 0.8 * 1.75e9});
  add(Claim{.what = "normals, one core, AES-NI: 1 G/s",
            .ours = "normals/aesni/threads:1",
            .items_per_second = 1e9});
  // The script that starts this program measures torch, where it is installed.
  if (const char* torch = std::getenv("LAZYDP_TORCH_NORMALS_PER_SECOND")) {
    add(Claim{
        .what = "normals, one core: 6 x torch's normal_ (" + std::string(torch) + " a second)",
        .ours = "normals/" + std::string(best_noise_path().name) + "/threads:1",
        .items_per_second = 6.0 * std::atof(torch)});
  }
}

}  // namespace lazydp::bench
