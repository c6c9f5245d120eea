#include "lazydp/base/parallel.h"

#include <omp.h>

#include <atomic>
#include <mutex>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#if defined(__SANITIZE_THREAD__)
#define LAZYDP_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LAZYDP_THREAD_SANITIZER 1
#endif
#endif

// OpenMP's run-time library is not instrumented, so ThreadSanitizer can't see that a parallel
// region forks and joins. These two tell it.
#if defined(LAZYDP_THREAD_SANITIZER)
extern "C" void __tsan_acquire(void*);
extern "C" void __tsan_release(void*);
static void sees(void* what) {
  __tsan_acquire(what);
}
static void shows(void* what) {
  __tsan_release(what);
}
#else
static void sees(void*) {}
static void shows(void*) {}
#endif

namespace lazydp {
namespace {

// Treats denormals as zero while a loop runs: they are a hundred times slower than other numbers,
// and far below the noise. The destructor restores the thread's own setting.
class FlushDenormals {
#if defined(__SSE2__)
 public:
  FlushDenormals() : saved_(_mm_getcsr()) {
    _mm_setcsr(saved_ | 0x8040u);
  }
  ~FlushDenormals() {
    _mm_setcsr(saved_);
  }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  unsigned saved_;
#endif
};

}  // namespace

void set_thread_count(int threads) {
  omp_set_num_threads(threads);
}
int thread_count() {
  return omp_get_max_threads();
}

int threads_here() {
  return omp_in_parallel() != 0 ? 1 : omp_get_max_threads();
}

OneThread::OneThread() : before_(omp_get_max_threads()) {
  omp_set_num_threads(1);
}
OneThread::~OneThread() {
  omp_set_num_threads(before_);
}

namespace detail {

void run_tasks(std::size_t tasks, void (*call)(void* body, std::size_t task), void* body) {
  if (tasks <= 1 || threads_here() == 1) {
    const FlushDenormals flush;
    for (std::size_t i = 0; i < tasks; ++i) call(body, i);
    return;
  }
  std::exception_ptr first;
  std::mutex guard;
  std::atomic<bool> failed{false};
  std::atomic<std::size_t> next{0};
  static char fork_tag;
  static char join_tag;
  shows(&fork_tag);
#pragma omp parallel
  {
    sees(&fork_tag);
    {
      const FlushDenormals flush;
      for (std::size_t i = next.fetch_add(1, std::memory_order_relaxed);
           i < tasks && !failed.load(std::memory_order_relaxed);
           i = next.fetch_add(1, std::memory_order_relaxed)) {
        try {
          call(body, i);
        } catch (...) {
          const std::lock_guard lock(guard);
          if (!first) first = std::current_exception();
          failed.store(true, std::memory_order_relaxed);
        }
      }
    }
    shows(&join_tag);
  }
  sees(&join_tag);
  if (first) std::rethrow_exception(first);
}

}  // namespace detail
}  // namespace lazydp
