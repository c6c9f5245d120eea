#include "lazydp/cli/process.h"

#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "lazydp/base/io/mapped_file.h"

namespace lazydp::cli {

void limit_openmp_spinning(char** words) {
  constexpr const char* kSpins = "GOMP_SPINCOUNT";
  if (std::getenv(kSpins) != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  // Starts it by its own path: as /proc/self/exe the program would be called "exe" in process
  // lists.
  std::array<char, 4096> program{};
  const ssize_t length = readlink("/proc/self/exe", program.data(), program.size() - 1);
  if (length <= 0 || length == static_cast<ssize_t>(program.size()) - 1) return;
  constexpr const char* kFew = "1000";  // a few microseconds of spinning
  if (setenv(kSpins, kFew, 1) != 0) return;
  execv(program.data(), words);  // returns only if it fails, and then nothing is lost
}

std::vector<std::string> command_words() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  if (!words.empty()) words.erase(words.begin());
  return words;
}

namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

// A signal handler can reach nothing but a global.
//  NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
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
    // The parent process had this signal ignored, as nohup does: keep it so.
    if (before_[i].sa_handler == SIG_IGN) sigaction(kSignals[i], &before_[i], nullptr);
  }
}

InterruptWatch::~InterruptWatch() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

int InterruptWatch::signal() const {
  return arrived;
}

namespace {

// A signal handler can reach nothing but a global.
//  NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
volatile std::sig_atomic_t code = 0;

void say(const char* text) {
  const ssize_t ignored = ::write(STDERR_FILENO, text, std::strlen(text));
  static_cast<void>(ignored);
}

// Calls only functions that are safe in a signal handler.
extern "C" void explain_bus_error(int signal, siginfo_t* info, void*) {
  const char* path = file_mapped_at(info->si_addr);
  if (path == nullptr) {  // a bug: let the signal end the program
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
