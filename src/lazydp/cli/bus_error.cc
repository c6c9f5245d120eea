#include "lazydp/cli/bus_error.h"

#include <unistd.h>

#include <csignal>
#include <cstring>

#include "lazydp/base/io/mapped_region.h"

namespace lazydp::cli {
namespace {

// A signal handler can reach nothing else.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
volatile std::sig_atomic_t code = 0;

void say(const char* text) {
  const ssize_t ignored = ::write(STDERR_FILENO, text, std::strlen(text));
  static_cast<void>(ignored);
}

// Calls nothing that a signal handler may not.
extern "C" void explain_bus_error(int signal, siginfo_t* info, void*) {
  const char* path = file_mapped_at(info->si_addr);
  if (path == nullptr) {  // a bug: let it end as such
    std::signal(signal, SIG_DFL);
    return;
  }
  say("lazydp: cannot read '");
  say(path);
  say("': it was cut short, or its disk failed, while it was in use\n");
  _exit(code);
}

}  // namespace

void explain_bus_errors(int exit_code) {
  code = exit_code;
  struct sigaction action = {};
  action.sa_sigaction = explain_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace lazydp::cli
