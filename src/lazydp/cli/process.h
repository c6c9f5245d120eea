#pragma once
// The process's environment: OpenMP's spinning, signals that stop a run, and errors of mapped
// files.

#include <csignal>
#include <stdexcept>
#include <string>
#include <vector>

namespace lazydp::cli {

// Shortens the time that a waiting OpenMP thread spins. By default threads spin for milliseconds
// before they sleep. On a machine with other load they spin while the thread they wait for is not
// running: with 8 busy processes on 2 cores a step of `mlperf` took 2.3 times as long as with short
// spinning, and the demo 167 s instead of 20. The run-time library reads the setting when it is
// loaded, so the program starts itself once more. Does nothing if the user has set GOMP_SPINCOUNT
// or OMP_WAIT_POLICY. `words` are those of main().
void limit_openmp_spinning(char** words);

// Returns the words after the program's name with which it was started.
std::vector<std::string> command_words();

// Ends the program with the exit code of a signal: SIGINT, SIGTERM and SIGHUP ask a run to stop
// after its current step. All that can be saved has been saved.
struct Interrupted : std::runtime_error {
  Interrupted(const std::string& message, int signal)
      : std::runtime_error(message), exit_code(128 + signal) {}
  int exit_code;
};

// While it lives, signals are remembered; a second one ends the program at once.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  int signal() const;  // 0: none arrived

 private:
  struct sigaction before_[3];
};

// From here on, a mapped file that is cut short, or whose disk fails, ends the program with an
// error that names it. Files that were written before stay as they are: files that are being
// written have no names yet.
void explain_bus_errors(int exit_code);

}  // namespace lazydp::cli
