// Measures the cost of a message between ranks on this machine, and of a byte: the coefficients of
// docs/measurements/scaling.md. Usage: mpirun -n R exchange_costs. The first rank prints one line
// of JSON.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "lazydp/base/parallel.h"
#include "lazydp/shard/launch.h"

namespace {

using lazydp::Communicator;

// Seconds of one call, as all ranks make it at once: the median of several.
template <class Call>
double seconds_of(Communicator& ranks, int calls, Call&& call) {
  std::vector<double> seconds;
  for (int i = 0; i < calls; ++i) {
    ranks.barrier();
    const auto begin = std::chrono::steady_clock::now();
    call();
    const auto end = std::chrono::steady_clock::now();
    seconds.push_back(std::chrono::duration<double>(end - begin).count());
  }
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

// Sends as many words from every rank to every other.
double all_to_all(Communicator& ranks, std::size_t words, int calls) {
  const auto size = static_cast<std::size_t>(ranks.size());
  std::vector<std::size_t> counts(size, words);
  counts[static_cast<std::size_t>(ranks.rank())] = 0;
  const std::vector<std::uint32_t> out(size * words + 1, 1);
  std::vector<std::uint32_t> in(size * words + 1);
  return seconds_of(ranks, calls, [&] {
    ranks.all_to_all(lazydp::Slices<const std::uint32_t>{out.data(), counts}, {in.data(), counts});
  });
}

double sum(Communicator& ranks, std::size_t floats, int calls) {
  std::vector<float> values(floats);
  return seconds_of(ranks, calls, [&] { ranks.add_up(std::span(values)); });
}

}  // namespace

int main() {
  lazydp::set_thread_count(1);
  const auto ranks = lazydp::join_ranks();
  if (ranks->size() == 1) {
    std::fputs("exchange_costs: start it with mpirun, on at least two ranks\n", stderr);
    return 2;
  }
  constexpr std::size_t kWords = std::size_t{1} << 20;  // 4 MB: what a step sends
  constexpr int kFew = 15;
  constexpr int kMany = 300;
  const auto others = static_cast<double>(ranks->size() - 1);
  const double empty = all_to_all(*ranks, 1, kMany);
  const double full = all_to_all(*ranks, kWords, kFew);
  const double short_sum = sum(*ranks, 1, kMany);
  const double long_sum = sum(*ranks, kWords, kFew);
  const double sent = 4.0 * static_cast<double>(kWords);
  if (ranks->rank() == 0) {
    std::printf(
        "{\"ranks\": %d, \"message_us\": %.2f, \"byte_ns\": %.4f, \"sum_us\": %.2f, "
        "\"summed_byte_ns\": %.4f}\n",
        ranks->size(), 1e6 * empty / others, 1e9 * (full - empty) / (sent * others),
        1e6 * short_sum, 1e9 * (long_sum - short_sum) / sent);
  }
  return 0;
}
