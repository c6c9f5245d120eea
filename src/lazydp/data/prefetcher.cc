#include "lazydp/data/prefetcher.h"

#include <utility>

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
  const auto ask_for = [&](Step step) {
    wanted_ = step;
    changed_.notify_all();
  };
  // What it may be working on must end before something else can begin.
  changed_.wait(lock, [&] { return wanted_ == 0 || ready_ == wanted_; });
  if (ready_ != t) {
    ready_ = 0;
    ask_for(t);
    changed_.wait(lock, [&] { return ready_ == t; });
  }
  ready_ = wanted_ = 0;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  std::swap(batch, batch_);
  ask_for(t + 1);
}

void ReadAhead::run() {
  set_thread_count(1);  // of loops that this thread starts
  std::vector<ExampleId> examples;
  std::unique_lock lock(guard_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || (wanted_ != 0 && ready_ != wanted_); });
    if (ending_) return;
    const Step t = wanted_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      sampler_.draw(t, examples);
      dataset_.read(examples, batch_);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = failure;
    ready_ = t;
    changed_.notify_all();
  }
}

}  // namespace lazydp
