#include "lazydp/cli/interrupt.h"

#include <array>

namespace lazydp::cli {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

// A signal handler can reach nothing else.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
volatile std::sig_atomic_t arrived = 0;

extern "C" void remember_signal(int signal) {
  arrived = signal;
}

}  // namespace

InterruptWatch::InterruptWatch() {
  arrived = 0;
  struct sigaction action = {};
  action.sa_handler = remember_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &action, &before_[i]);
    // Who started the program wants it to hear nothing of this one: nohup.
    if (before_[i].sa_handler == SIG_IGN) sigaction(kSignals[i], &before_[i], nullptr);
  }
}

InterruptWatch::~InterruptWatch() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

int InterruptWatch::signal() const {
  return arrived;
}

}  // namespace lazydp::cli
