// Ranks over MPI, which does the transport, the launch and the collectives. A build without MPI
// reports that when a launcher starts several ranks.

#include <string>

#include "lazydp/base/error.h"
#include "lazydp/shard/launch.h"

#if defined(LAZYDP_MPI)

#define OMPI_SKIP_MPICXX 1  // only its C interface is used
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <thread>
#include <vector>

namespace lazydp {
namespace {

// Returns when the request has completed. MPI's own wait would keep a core busy that computes; this
// one sleeps after polling a few times.
void wait_politely(MPI_Request request) {
  using namespace std::chrono_literals;
  constexpr int kLooks = 200;
  for (int i = 0;; ++i) {
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    if (i < kLooks) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(10us);
    }
  }
}

int as_int(std::size_t count) {
  if (count > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw UserError("ranks would exchange more than 2^31 numbers at once; use a smaller --batch");
  }
  return static_cast<int>(count);
}

class MpiRank final : public Communicator {
 public:
  MpiRank() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm machine = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine);
    MPI_Comm_size(machine, &neighbours_);
    MPI_Comm_free(&machine);
    constexpr unsigned long kMicrosecond = 1000;
    prctl(PR_SET_TIMERSLACK, kMicrosecond);  // makes a short sleep short; threads inherit it
  }
  ~MpiRank() override { MPI_Finalize(); }
  MpiRank(const MpiRank&) = delete;
  MpiRank& operator=(const MpiRank&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int neighbours() const override { return neighbours_; }

  void barrier() override {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    wait_politely(request);
  }

  void broadcast(std::span<std::byte> bytes, int from) override {
    in_pieces(bytes, [&](std::byte* data, int count, MPI_Request* request) {
      MPI_Ibcast(data, count, MPI_BYTE, from, MPI_COMM_WORLD, request);
    });
  }
  void add_up(std::span<float> values) override { add(values, MPI_FLOAT); }
  void add_up(std::span<double> values) override { add(values, MPI_DOUBLE); }

  void send(std::span<const std::byte> bytes, int to) override {
    traffic_.bytes += bytes.size();
    ++traffic_.messages;
    in_pieces(bytes, [&](const std::byte* data, int count, MPI_Request* request) {
      MPI_Isend(data, count, MPI_BYTE, to, kTag, MPI_COMM_WORLD, request);
    });
  }
  void receive(std::span<std::byte> bytes, int from) override {
    in_pieces(bytes, [&](std::byte* data, int count, MPI_Request* request) {
      MPI_Irecv(data, count, MPI_BYTE, from, kTag, MPI_COMM_WORLD, request);
    });
  }

 private:
  static constexpr int kTag = 1;

  // Transfers `bytes` in pieces whose sizes fit MPI's int counts.
  template <class Byte, class Start>
  static void in_pieces(std::span<Byte> bytes, Start&& start) {
    constexpr std::size_t kMost = std::size_t{1} << 30;
    for (std::size_t i = 0; i == 0 || i < bytes.size(); i += kMost) {
      MPI_Request request = MPI_REQUEST_NULL;
      start(bytes.data() + i, static_cast<int>(std::min(kMost, bytes.size() - i)), &request);
      wait_politely(request);
    }
  }

  template <class T>
  void add(std::span<T> values, MPI_Datatype type) {
    count_sum(values.size_bytes());
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(MPI_IN_PLACE, values.data(), as_int(values.size()), type, MPI_SUM,
                   MPI_COMM_WORLD, &request);
    wait_politely(request);
  }

  // A slice in the form that MPI takes.
  struct Placed {
    std::vector<int> counts;
    std::vector<int> offsets;

    explicit Placed(std::span<const std::size_t> words) {
      std::size_t before = 0;
      for (const std::size_t count : words) {
        counts.push_back(as_int(count));
        offsets.push_back(as_int(before));
        before += count;
      }
    }
  };

  void exchange(Slices<const void> out, Slices<void> in) override {
    count(out.counts);
    const Placed to(out.counts);
    const Placed from(in.counts);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ialltoallv(out.data, to.counts.data(), to.offsets.data(), MPI_UINT32_T, in.data,
                   from.counts.data(), from.offsets.data(), MPI_UINT32_T, MPI_COMM_WORLD, &request);
    wait_politely(request);
  }

  int rank_ = 0;
  int size_ = 1;
  int neighbours_ = 1;
};

}  // namespace

std::unique_ptr<Communicator> join_ranks() {
  if (launched().size <= 1) return make_alone();
  int offered = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &offered);
  if (offered < MPI_THREAD_SERIALIZED) {
    throw UserError(
        "this MPI cannot be called from several threads (MPI_THREAD_SERIALIZED); use one that can");
  }
  return std::make_unique<MpiRank>();
}

void end_all_ranks(int exit_code) {
  int begun = 0;
  int ended = 0;
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  if (begun != 0 && ended == 0) MPI_Abort(MPI_COMM_WORLD, exit_code);
}

}  // namespace lazydp

#else

namespace lazydp {

std::unique_ptr<Communicator> join_ranks() {
  const int size = launched().size;
  if (size <= 1) return make_alone();
  throw UserError("this is one of " + std::to_string(size) +
                  " ranks, but the program was built without MPI; install libopenmpi-dev and build "
                  "it again, or start one process");
}

void end_all_ranks(int) {}

}  // namespace lazydp

#endif  // defined(LAZYDP_MPI)
