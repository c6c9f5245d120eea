#pragma once
// The program as a process that can be watched, limited and ended while it runs.

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/cli/program.h"

namespace lazydp::cli {

class Child {
 public:
  // `prepare` runs in the child before the program does: to set limits, for example.
  Child(const Workplace& at, const std::vector<std::string>& words,
        const std::function<void()>& prepare = {})
      : err_(at / ".err") {
    std::vector<char*> argv = {const_cast<char*>(LAZYDP_PROGRAM)};
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ != 0) return;
    if (chdir(at.path().c_str()) != 0) _exit(126);
    const int nothing = open("/dev/null", O_RDWR);
    const int err = open(err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(nothing, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    if (prepare) prepare();
    execv(LAZYDP_PROGRAM, argv.data());
    _exit(127);
  }
  ~Child() {
    if (running_) {
      send(SIGKILL);
      wait();
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void send(int signal) const { kill(pid_, signal); }

  // The exit code, or minus the signal that ended it.
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    running_ = false;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  // Hands the process over: the caller that takes its number waits for it.
  pid_t leave() {
    running_ = false;
    return pid_;
  }

  std::string err() const { return contents(err_); }

 private:
  std::filesystem::path err_;
  pid_t pid_ = 0;
  bool running_ = true;
};

// A limit for the child alone.
inline std::function<void()> limited(int what, rlim_t bytes) {
  return [what, bytes] {
    const rlimit limit = {bytes, bytes};
    setrlimit(static_cast<__rlimit_resource>(what), &limit);
  };
}

// Waits, for half a minute at most, until something holds.
inline bool comes_true(const std::function<bool()>& holds) {
  for (int i = 0; i < 3000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace lazydp::cli
