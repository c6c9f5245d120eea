#include "lazydp/data/batch_queue.h"

#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"

namespace lazydp {

ReadAhead::ReadAhead(const Dataset& dataset, const Sampler& sampler)
    : dataset_(dataset), sampler_(sampler), thread_([this] { run(); }) {}

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard lock(guard_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ReadAhead::read(Step t, Batch& batch) {
  std::unique_lock lock(guard_);
  const auto prefetch = [&](Step step) {
    wanted_ = step;
    changed_.notify_all();
  };
  // The read that may be in progress must end before another can begin.
  changed_.wait(lock, [&] { return wanted_ == 0 || ready_ == wanted_; });
  if (ready_ != t) {
    ready_ = 0;
    prefetch(t);
    changed_.wait(lock, [&] { return ready_ == t; });
  }
  ready_ = wanted_ = 0;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  std::swap(batch, batch_);
  prefetch(t + 1);
}

void ReadAhead::run() {
  set_thread_count(1);  // for loops that this thread starts
  Sample sample;
  std::unique_lock lock(guard_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || (wanted_ != 0 && ready_ != wanted_); });
    if (ending_) return;
    const Step t = wanted_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      sampler_.draw(t, sample);
      read_sample(dataset_, sample, batch_);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = failure;
    ready_ = t;
    changed_.notify_all();
  }
}

BatchQueue::BatchQueue(const Dataset& dataset, const Sampler& sampler, LookAhead look_ahead,
                       Reading reading)
    : dataset_(dataset), sampler_(sampler), look_ahead_(look_ahead) {
  if (reading == Reading::ahead) read_ahead_ = std::make_unique<ReadAhead>(dataset, sampler);
}

void BatchQueue::advance(Step t) {
  check(t >= 1, "steps count from 1");
  if (next_.step == t) std::swap(current_, next_);
  fill(current_, t);
  if (look_ahead_ == LookAhead::on) fill(next_, t + 1);
}

const Batch& BatchQueue::current() const {
  check(current_.step != 0, "advance() comes before current()");
  return current_.batch;
}

const Batch& BatchQueue::next() const {
  check(next_.step != 0, "next() needs look-ahead and an advance()");
  return next_.batch;
}

// Marks the entry as empty while it is filled: if reading fails, a partial batch is not mistaken
// for a whole one.
void BatchQueue::fill(Entry& entry, Step t) {
  if (entry.step == t) return;
  entry.step = 0;
  if (read_ahead_) {
    read_ahead_->read(t, entry.batch);
  } else {
    sampler_.draw(t, sample_);
    read_sample(dataset_, sample_, entry.batch);
  }
  entry.step = t;
}

}  // namespace lazydp
