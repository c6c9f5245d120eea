// Measures how fast batches are read from a data file: in its order, and as Poisson samples.
// Usage: stream_reads FILE [BATCH]. Reads from the disk (the page cache is emptied of the file, and
// the reader told that it does not fit into memory), then from memory. Prints a line of JSON each.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "lazydp/base/stages.h"
#include "lazydp/data/file/data_file.h"
#include "lazydp/data/samplers.h"
#include "lazydp/data/stream.h"

namespace {

using namespace lazydp;

constexpr double kSeconds = 20.0;  // at most, for each way

void empty_page_cache_of(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY);
  if (file < 0 || fdatasync(file) != 0 || posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) != 0) {
    std::perror(path.c_str());
    std::exit(4);
  }
  close(file);
}

// Reads one pass, or as much of it as there is time for, and prints what it took.
void read_pass(const DataFile& data, const Sampler& sampler, std::uint64_t batch,
               const char* from) {
  const double bytes_an_example =
      static_cast<double>(data.bytes()) / static_cast<double>(data.size());
  const auto steps = static_cast<Step>(data.size() / batch);
  Sample sample;
  Batch examples;
  Stopwatch watch;
  double seconds = 0.0;
  std::uint64_t read = 0;
  for (Step t = 1; t <= steps && seconds < kSeconds; ++t) {
    sampler.draw(t, sample);
    read_sample(data, sample, examples);
    read += sample.examples.size();
    seconds += watch.lap();
  }
  const double bytes = bytes_an_example * static_cast<double>(read);
  std::printf(
      "{\"sampling\": \"%s\", \"from\": \"%s\", \"MB_per_s\": %.1f, \"examples_per_s\": %.0f}\n",
      std::string(sampling_name(sampler.sampling())).c_str(), from, bytes / seconds / 1e6,
      static_cast<double>(read) / seconds);
}

}  // namespace

int main(int arguments, char** argument) {
  if (arguments < 2) {
    std::fprintf(stderr, "usage: stream_reads FILE [BATCH]\n");
    return 2;
  }
  const std::string path = argument[1];
  const std::uint64_t batch = arguments > 2 ? std::strtoull(argument[2], nullptr, 10) : 8192;
  for (const bool from_disk : {true, false}) {
    for (const bool in_order : {true, false}) {
      if (from_disk) empty_page_cache_of(path);
      const DataFile data(path, from_disk ? 0 : available_memory());
      if (!from_disk) data.check_all_pages();
      const auto sampler =
          in_order
              ? make_stream_sampler(Windows(data.size(), batch))
              : make_poisson_sampler(Seed::fixed(1), data.size(),
                                     static_cast<double>(batch) / static_cast<double>(data.size()));
      read_pass(data, *sampler, batch, from_disk ? "disk" : "memory");
    }
  }
  return 0;
}
