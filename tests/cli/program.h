#pragma once
// Runs the built program as a user would, in an empty directory of its own.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace lazydp::cli {

using Words = std::vector<std::string>;

inline Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

struct Ran {
  int code = 0;
  std::string out;
  std::string err;

  std::size_t error_lines() const {
    return static_cast<std::size_t>(std::ranges::count(err, '\n'));
  }
};

// A directory that goes away with this object.
class Workplace : public TemporaryFolder {
 public:
  Ran run(const std::vector<std::string>& words) const { return start(LAZYDP_PROGRAM, words); }

  // A shell script, in which $LAZYDP is the program.
  Ran shell(const std::string& script) const {
    setenv("LAZYDP", LAZYDP_PROGRAM, 1);
    return start("/bin/sh", {"-c", script});
  }

  // The flags of one run after `verb`, and what --json then holds.
  nlohmann::json json(std::vector<std::string> words) const {
    words.insert(words.end(), {"--quiet", "--json", "numbers.json"});
    last_ = run(words);
    return last_.code == 0 ? nlohmann::json::parse(contents(*this / "numbers.json"))
                           : nlohmann::json();
  }
  const Ran& last() const { return last_; }

 private:
  Ran start(const char* program, const std::vector<std::string>& words) const {
    const TemporaryFolder streams;
    const pid_t child = fork();
    if (child == 0) {
      if (chdir(path().c_str()) != 0) _exit(126);
      const auto out = (streams / "out").string();
      const auto err = (streams / "err").string();
      if (freopen(out.c_str(), "w", stdout) == nullptr) _exit(126);
      if (freopen(err.c_str(), "w", stderr) == nullptr) _exit(126);
      std::vector<char*> argv = {const_cast<char*>(program)};
      for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
      argv.push_back(nullptr);
      execv(program, argv.data());
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            .out = contents(streams / "out"),
            .err = contents(streams / "err")};
  }

  mutable Ran last_;
};

// The weights alone of a released model in folder `model`: a path may differ in the card.
inline std::string weights(const Workplace& at, const std::string& model) {
  const std::string file = contents(at / (model + "/model.safetensors"));
  std::uint64_t header = 0;
  if (file.size() < sizeof(header)) return "";
  std::memcpy(&header, file.data(), sizeof(header));
  return file.substr(sizeof(header) + header);
}

// Returns the contents of all files in a folder and the folders within it, by name.
inline std::vector<std::pair<std::string, std::string>> all_of(
    const std::filesystem::path& folder) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    found.emplace_back(entry.path().string(),
                       entry.is_regular_file() ? contents(entry.path()) : "");
  }
  std::ranges::sort(found);
  return found;
}

// `first`, and the flags of a model that trains in no time.
inline std::vector<std::string> tiny(std::vector<std::string> first,
                                     const std::vector<std::string>& more = {}) {
  const std::vector<std::string> shape = {"--rows",  "50,70", "--dim",     "4",         "--bottom",
                                          "13-8-4",  "--top", "8-1",       "--pooling", "3",
                                          "--batch", "32",    "--threads", "1"};
  first.insert(first.end(), shape.begin(), shape.end());
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

}  // namespace lazydp::cli
