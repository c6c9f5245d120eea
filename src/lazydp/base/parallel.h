#pragma once
// Parallel loops on OpenMP's threads. The only file that knows OpenMP.
//
// Which thread runs which task is unspecified, so results may not depend on it: a task writes only
// what belongs to its index. The problem decides how it is cut into tasks, never the number of
// threads; that is why a model comes out bit for bit the same on one thread and on many.

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>

namespace lazydp {

// The number of threads that the loops below use, for the whole process: OpenMP's own setting.
void set_thread_count(int threads);
int thread_count();

// Returns how many threads a loop that is begun here would use: one inside another parallel loop.
int threads_here();

// While an object of this class lives, a library that this thread calls starts no OpenMP threads of
// its own.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

namespace detail {
// Calls call(body, i) for every i in [0, tasks). Rethrows the first exception of a task; tasks that
// have not begun by then are skipped.
void run_tasks(std::size_t tasks, void (*call)(void* body, std::size_t task), void* body);
}  // namespace detail

// Calls body(i) for every i in [0, tasks), in parallel. A loop inside another parallel loop runs
// serially. Rethrows the first exception of a body to the caller.
template <class Body>
void parallel_for(std::size_t tasks, Body&& body) {
  auto call = [](void* b, std::size_t i) { (*static_cast<std::remove_reference_t<Body>*>(b))(i); };
  detail::run_tasks(tasks, call, const_cast<void*>(static_cast<const void*>(std::addressof(body))));
}

// Calls body(begin, end) on consecutive blocks of `block` indices that cover [0, n), in parallel.
template <class Body>
void parallel_blocks(std::size_t n, std::size_t block, Body&& body) {
  parallel_for((n + block - 1) / block,
               [&](std::size_t i) { body(i * block, std::min(n, (i + 1) * block)); });
}

}  // namespace lazydp
