#pragma once
// SIGINT, SIGTERM and SIGHUP ask a run to stop after the step it is in.

#include <csignal>
#include <stdexcept>
#include <string>

namespace lazydp::cli {

// Ends the program with the exit code of the signal; what can be kept has been.
struct Interrupted : std::runtime_error {
  Interrupted(const std::string& message, int signal)
      : std::runtime_error(message), exit_code(128 + signal) {}
  int exit_code;
};

// While it lives, signals are remembered; a second one of them ends the program at once.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  int signal() const;  // 0: none came

 private:
  struct sigaction before_[3];
};

}  // namespace lazydp::cli
