#include "lazydp/shard/comm_thread.h"

#include <utility>

#include "lazydp/base/parallel.h"
#include "lazydp/base/stages.h"

namespace lazydp {

CommThread::CommThread(Communicator& ranks) : ranks_(ranks) {
  if (ranks.size() > 1) thread_ = std::thread([this] { work(); });
}

CommThread::~CommThread() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(guard_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

CommThread::Ticket CommThread::send(Job job) {
  if (!thread_.joinable()) return run_at_once(job);
  const std::lock_guard lock(guard_);
  jobs_.push_back(std::move(job));
  changed_.notify_all();
  return ++given_;
}

// Keeps what a job throws for wait(), as the thread does for the jobs it runs.
CommThread::Ticket CommThread::run_at_once(const Job& job) {
  ++given_;
  if (failure_) return given_;
  try {
    job(ranks_);
    done_ = given_;
  } catch (...) {
    failure_ = std::current_exception();
  }
  return given_;
}

CommThread::Times CommThread::times() {
  const std::lock_guard lock(guard_);
  return times_;
}

void CommThread::wait(Ticket ticket) {
  const Stopwatch watch;
  std::unique_lock lock(guard_);
  changed_.wait(lock, [&] { return failure_ || done_ >= ticket; });
  times_.waited += watch.seconds();
  if (done_ < ticket) std::rethrow_exception(failure_);
}

void CommThread::work() {
  set_thread_count(1);  // for loops that this thread starts
  std::unique_lock lock(guard_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    const Stopwatch watch;
    std::exception_ptr failure;
    try {
      job(ranks_);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    times_.under_way += watch.seconds();
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
