// A wall clock that goes back by an hour whenever it is read; loaded before the C library.

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace {

timespec backward() {
  static std::atomic<long> looks = 0;
  timespec time = {};
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &time);
  constexpr long kHour = 3600;
  time.tv_sec -= kHour * looks++;
  return time;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) {
    return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  }
  *time = backward();
  return 0;
}

int gettimeofday(timeval* time, void*) noexcept {
  const timespec now = backward();
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* out) noexcept {
  const time_t now = backward().tv_sec;
  if (out != nullptr) *out = now;
  return now;
}
}
