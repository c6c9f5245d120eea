#include "lazydp/shard/comm_thread.h"

#include <chrono>
#include <utility>

#include "lazydp/base/parallel.h"

namespace lazydp {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

Courier::Courier(Communicator& ranks) : ranks_(ranks), thread_([this] { work(); }) {}

Courier::~Courier() {
  {
    const std::lock_guard lock(guard_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Courier::Ticket Courier::send(Errand errand) {
  const std::lock_guard lock(guard_);
  errands_.push_back(std::move(errand));
  changed_.notify_all();
  return ++given_;
}

Courier::Times Courier::times() {
  const std::lock_guard lock(guard_);
  return times_;
}

void Courier::wait(Ticket ticket) {
  const Clock::time_point begin = Clock::now();
  std::unique_lock lock(guard_);
  changed_.wait(lock, [&] { return failure_ || done_ >= ticket; });
  times_.waited += seconds_since(begin);
  if (done_ < ticket) std::rethrow_exception(failure_);
}

void Courier::work() {
  set_thread_count(1);  // of loops that this thread starts
  std::unique_lock lock(guard_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || !errands_.empty(); });
    if (errands_.empty()) return;
    const Errand errand = std::move(errands_.front());
    errands_.pop_front();
    lock.unlock();
    const Clock::time_point begin = Clock::now();
    std::exception_ptr failure;
    try {
      errand(ranks_);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    times_.under_way += seconds_since(begin);
    if (failure) {
      failure_ = failure;
      changed_.notify_all();
      return;
    }
    ++done_;
    changed_.notify_all();
  }
}

}  // namespace lazydp
