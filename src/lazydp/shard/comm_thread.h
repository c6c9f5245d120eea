#pragma once
// A thread that communicates with other ranks while this rank computes.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "lazydp/shard/communicator.h"

namespace lazydp {

// Runs jobs one after the other, in the order in which they were sent: all ranks send the same
// jobs, so collective calls match. A communicator that has such a thread is used through it alone.
// A rank that is alone waits for no other: it needs no thread, and its jobs run at once.
class CommThread {
 public:
  using Job = std::function<void(Communicator&)>;
  using Ticket = std::uint64_t;

  explicit CommThread(Communicator& ranks);
  ~CommThread();  // runs the jobs it was given first, as the other ranks' threads do
  CommThread(const CommThread&) = delete;
  CommThread& operator=(const CommThread&) = delete;

  Ticket send(Job job);

  // Returns once the job is done. Rethrows what it, or a job before it, threw.
  void wait(Ticket ticket);

  // Runs a job and waits for it.
  void run(Job job) { wait(send(std::move(job))); }

  // Seconds so far that jobs took, and that callers waited for them. Where the first is longer,
  // ranks computed while messages were on their way.
  struct Times {
    double under_way = 0.0;
    double waited = 0.0;
  };
  Times times();

  int rank() const { return ranks_.rank(); }
  int size() const { return ranks_.size(); }
  const Communicator& ranks() const { return ranks_; }

 private:
  void work();
  Ticket run_at_once(const Job& job);

  Communicator& ranks_;
  std::mutex guard_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  Ticket given_ = 0;
  Ticket done_ = 0;
  bool ending_ = false;
  Times times_;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace lazydp
