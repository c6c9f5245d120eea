#include "lazydp/shard/launch.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"

namespace lazydp {

namespace {

// Returns the value of the first of these variables that holds a number.
template <std::size_t N>
int number_of(const std::array<const char*, N>& names, int otherwise) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    char* end = nullptr;
    const long number = std::strtol(value, &end, 10);
    if (*end == '\0' && number >= 0 && number < 1'000'000) return static_cast<int>(number);
  }
  return otherwise;
}

}  // namespace

// Reads the variables that Open MPI, MPICH and Slurm with either set. Slurm's own are not enough: a
// batch script has them too.
Launched launched() {
  constexpr std::array kSizes = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
  constexpr std::array kRanks = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
  const bool by_pmix = std::getenv("PMIX_RANK") != nullptr;
  constexpr std::array kTasks = {"SLURM_STEP_NUM_TASKS"};
  const int size = number_of(kSizes, by_pmix ? number_of(kTasks, 1) : 1);
  return {.rank = number_of(kRanks, 0), .size = size};
}

namespace {

// Another rank failed, and its exception says why.
struct Abandoned {};

// The meeting point of ranks that are threads: a barrier, mailboxes, and a slot that each rank
// shows.
class Board {
 public:
  explicit Board(int ranks) : posts(static_cast<std::size_t>(ranks)), ranks_(ranks) {}

  void meet() {
    std::unique_lock lock(guard_);
    const std::uint64_t round = round_;
    if (++arrived_ == ranks_) {
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
    }
    wait(lock, [&] { return round_ != round; });
  }

  void put(int from, int to, std::span<const std::byte> bytes) {
    const std::lock_guard lock(guard_);
    mail_[{from, to}].emplace_back(bytes.begin(), bytes.end());
    changed_.notify_all();
  }
  std::vector<std::byte> take(int from, int to) {
    std::unique_lock lock(guard_);
    auto& box = mail_[{from, to}];
    wait(lock, [&] { return !box.empty(); });
    std::vector<std::byte> bytes = std::move(box.front());
    box.pop_front();
    return bytes;
  }

  void fail(std::exception_ptr why) {
    const std::lock_guard lock(guard_);
    if (!failure_) failure_ = std::move(why);
    failed_ = true;
    changed_.notify_all();
  }
  std::exception_ptr failure() const { return failure_; }

  // The memory that a rank shows to the others between two barriers.
  struct Post {
    const void* data = nullptr;
    std::span<const std::size_t> counts;
  };
  std::vector<Post> posts;

 private:
  template <class Ready>
  void wait(std::unique_lock<std::mutex>& lock, Ready&& ready) {
    changed_.wait(lock, [&] { return failed_ || ready(); });
    if (failed_) throw Abandoned();
  }

  int ranks_;
  std::mutex guard_;
  std::condition_variable changed_;
  int arrived_ = 0;
  std::uint64_t round_ = 0;
  bool failed_ = false;
  std::exception_ptr failure_;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> mail_;
};

class ThreadRank final : public Communicator {
 public:
  ThreadRank(Board& board, int rank) : board_(board), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(board_.posts.size()); }
  int neighbours() const override { return size(); }
  void barrier() override { board_.meet(); }

  void broadcast(std::span<std::byte> bytes, int from) override {
    show(bytes.data());
    if (rank_ != from && !bytes.empty()) {
      std::memcpy(bytes.data(), board_.posts[static_cast<std::size_t>(from)].data, bytes.size());
    }
    board_.meet();
  }
  void add_up(std::span<float> values) override { add(values); }
  void add_up(std::span<double> values) override { add(values); }

  void send(std::span<const std::byte> bytes, int to) override {
    traffic_.bytes += bytes.size();
    ++traffic_.messages;
    board_.put(rank_, to, bytes);
  }
  void receive(std::span<std::byte> bytes, int from) override {
    const std::vector<std::byte> sent = board_.take(from, rank_);
    check(sent.size() == bytes.size(), "both know how much is sent");
    std::ranges::copy(sent, bytes.begin());
  }

 private:
  void show(const void* data, std::span<const std::size_t> counts = {}) {
    board_.posts[static_cast<std::size_t>(rank_)] = {data, counts};
    board_.meet();
  }

  template <class T>
  void add(std::span<T> values) {
    count_sum(values.size_bytes());
    show(values.data());
    std::vector<T> sum(values.size(), T{0});
    for (const Board::Post& post : board_.posts) {
      const T* part = static_cast<const T*>(post.data);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
    }
    board_.meet();
    std::ranges::copy(sum, values.begin());
  }

  void exchange(Slices<const void> out, Slices<void> in) override {
    count(out.counts);
    show(out.data, out.counts);
    constexpr std::size_t kWord = sizeof(std::uint32_t);
    auto* to = static_cast<std::byte*>(in.data);
    for (std::size_t from = 0; from < board_.posts.size(); ++from) {
      const Board::Post& post = board_.posts[from];
      const auto here = static_cast<std::size_t>(rank_);
      std::size_t before = 0;
      for (std::size_t p = 0; p < here; ++p) before += post.counts[p];
      check(post.counts[here] == in.counts[from], "both know how much is sent");
      const std::size_t bytes = in.counts[from] * kWord;
      if (bytes == 0) continue;
      std::memcpy(to, static_cast<const std::byte*>(post.data) + before * kWord, bytes);
      to += bytes;
    }
    board_.meet();
  }

  Board& board_;
  int rank_;
};

}  // namespace

void run_as_ranks(int ranks, const std::function<void(Communicator&)>& body, int threads) {
  Board board(ranks);
  std::vector<std::thread> all;
  all.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    all.emplace_back([&, rank] {
      set_thread_count(threads);
      ThreadRank here(board, rank);
      try {
        body(here);
      } catch (const Abandoned&) {
      } catch (...) {
        board.fail(std::current_exception());
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  if (board.failure()) std::rethrow_exception(board.failure());
}

}  // namespace lazydp
