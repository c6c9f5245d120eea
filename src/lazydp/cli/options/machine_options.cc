#include "lazydp/cli/options/machine_options.h"

#include <array>
#include <filesystem>
#include <limits>
#include <string_view>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/cli/run/ranks.h"
#include "lazydp/random/noise_source.h"

namespace lazydp::cli {
namespace {

constexpr std::uint64_t kMaxThreads = 1024;

}  // namespace

std::optional<std::string> choose_table_folder(const FlagTexts& given) {
  if (!given.table_storage || *given.table_storage == "memory") return std::nullopt;
  constexpr std::string_view kFile = "file:";
  std::string folder = *given.table_storage;
  if (!folder.starts_with(kFile) || folder.size() == kFile.size()) {
    refuse("table-storage", folder, "memory, or file:DIR with a folder for them");
  }
  if (given.key_file) {
    throw UserError("key-file is '" + *given.key_file +
                    "', but tables in files are not encrypted; put table-storage on an encrypted "
                    "disk, with the run's folder, and leave key-file out");
  }
  return folder.substr(kFile.size());
}

FlagTexts with_table_folder_in_full(FlagTexts given) {
  if (const auto folder = choose_table_folder(given)) {
    given.table_storage = "file:" + std::filesystem::absolute(*folder).lexically_normal().string();
  }
  return given;
}

void require_trainable_there(const Recipe& recipe, const std::optional<std::string>& folder) {
  if (!folder || !recipe.writes_every_row()) return;
  throw UserError("table-storage is 'file:" + *folder + "', but " + std::string(recipe.name) +
                  " writes every row at every step and needs its tables in memory");
}

Performance choose_performance(const FlagTexts& given) {
  constexpr std::array<std::pair<std::string_view, bool>, 2> kSettle = {
      {{"ahead", true}, {"on-read", false}}};
  constexpr std::array<std::pair<std::string_view, NoisePasses>, 2> kStages = {
      {{"fused", NoisePasses::fused}, {"split", NoisePasses::split}}};
  Performance performance;
  if (given.settle) performance.settle_ahead = choice("settle", *given.settle, kSettle);
  if (given.stages) performance.passes = choice("stages", *given.stages, kStages);
  return performance;
}

unsigned choose_normals_per_sample(const FlagTexts& given) {
  if (!given.noise_draws) return 1;
  return static_cast<unsigned>(
      whole_number("noise-draws", *given.noise_draws, 1, NoiseSource::kMostDraws));
}

void choose_threads(const FlagTexts& given) {
  if (!given.threads) return set_thread_count(threads_of_rank());
  set_thread_count(static_cast<int>(whole_number("threads", *given.threads, 1, kMaxThreads)));
}

std::optional<std::uint64_t> choose_seed(const FlagTexts& given) {
  if (!given.seed) return std::nullopt;
  return whole_number("seed", *given.seed, 0, std::numeric_limits<std::uint64_t>::max());
}

}  // namespace lazydp::cli
