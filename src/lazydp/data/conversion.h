#pragma once
// What a conversion to a data file did.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lazydp {

struct BadLine {
  std::string input;
  std::uint64_t line = 0;  // from 1; of a table in memory, its row
  std::size_t column = 0;  // from 1
  std::string reason;
};

inline constexpr std::size_t kShownBadLines = 5;

struct Conversion {
  std::uint64_t lines = 0;
  std::uint64_t examples = 0;
  std::uint64_t positives = 0;
  std::uint64_t blank = 0;           // blank lines, which are skipped
  std::uint64_t headers = 0;         // lines that name the columns
  std::uint64_t without_header = 0;  // inputs that should begin with such a line and have none
  std::uint64_t missing_keys = 0;    // examples whose key a joined table lacks
  std::uint64_t bad = 0;
  std::vector<BadLine> first_bad;  // in order
  bool stopped = false;            // there were too many bad lines: no file was written
  std::uint64_t text_bytes = 0;    // decompressed
  std::uint64_t packed_bytes = 0;  // as read
  std::uint64_t file_bytes = 0;
};

}  // namespace lazydp
