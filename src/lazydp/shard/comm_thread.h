#pragma once
// A thread that talks to other ranks while this one computes.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "lazydp/shard/communicator.h"

namespace lazydp {

// Errands are run one after the other, in the order in which they were given: all ranks give the
// same ones, so collective calls match. A communicator that has a courier is used through it alone.
class Courier {
 public:
  using Errand = std::function<void(Communicator&)>;
  using Ticket = std::uint64_t;

  explicit Courier(Communicator& ranks);
  ~Courier();  // runs what it was given first: the other ranks' couriers do
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;

  Ticket send(Errand errand);

  // Returns once the errand is done. What it, or one before it, threw is thrown here.
  void wait(Ticket ticket);

  // Runs an errand and waits for it.
  void run(Errand errand) { wait(send(std::move(errand))); }

  // So far, in seconds: what errands took, and what somebody stood waiting for them. Where the
  // first is the longer, ranks computed while things were on their way.
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

  Communicator& ranks_;
  std::mutex guard_;
  std::condition_variable changed_;
  std::deque<Errand> errands_;
  Ticket given_ = 0;
  Ticket done_ = 0;
  bool ending_ = false;
  Times times_;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace lazydp
