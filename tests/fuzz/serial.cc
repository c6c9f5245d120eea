// Loops on one thread: a fuzzer wants the same path for the same input, and no OpenMP to build.

#include "lazydp/base/parallel.h"

namespace lazydp {

void set_thread_count(int) {}
int thread_count() {
  return 1;
}

namespace detail {
void run_tasks(std::size_t tasks, void (*call)(void* body, std::size_t task), void* body) {
  for (std::size_t i = 0; i < tasks; ++i) call(body, i);
}
}  // namespace detail

}  // namespace lazydp
