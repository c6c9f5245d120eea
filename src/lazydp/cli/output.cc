#include "lazydp/cli/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/base/io/atomic_file.h"
#include "lazydp/cli/parse_value.h"

namespace lazydp::cli {

bool may_colour(int descriptor) {
  const char* none = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool refused = none != nullptr && *none != '\0';
  const bool able = terminal != nullptr && std::string_view(terminal) != "dumb";
  return isatty(descriptor) != 0 && able && !refused;
}

std::string coloured(std::string_view text, Colour colour, bool may) {
  if (!may) return std::string(text);
  const std::string_view start = colour == Colour::error ? "\033[1;31m" : "\033[1m";
  return std::string(start) + std::string(text) + "\033[0m";
}

std::string with_headings(std::string_view text, bool may) {
  if (!may) return std::string(text);
  std::string out;
  for (const std::string& line : parts_of(text, "\n")) {
    const bool section = line.size() > 1 && line.back() == ':' && line.front() != ' ';
    out += (out.empty() ? "" : "\n") + (section ? coloured(line, Colour::heading, may) : line);
  }
  return out;
}

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path) {
  throw system_failure("cannot write " + path);
}

void write_all(int file, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Returns whether `path` is a device or a pipe: it must be written into, not replaced.
bool is_special(const std::string& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  if (is_standard_output() || is_special(path_)) return;
  const AtomicFile probe(path_);
}

void OutputFile::write(std::string_view text) const {
  if (is_standard_output()) return write_all(STDOUT_FILENO, text, "standard output");
  if (is_special(path_)) {
    const int file = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0) fail(path_);
    write_all(file, text, path_);
    if (close(file) != 0) fail(path_);
    return;
  }
  AtomicFile file(path_);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

}  // namespace lazydp::cli
