#pragma once
// The lines of several inputs, some megabytes at a time.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lazydp/data/text/byte_source.h"

namespace lazydp {

inline constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20;

// Whole lines of one input, each with its newline.
struct LineBlock {
  std::vector<char> buffer;
  std::string_view text;       // in `buffer`
  std::size_t input = 0;       // which one
  bool starts_input = false;   // its first line is the input's first
  bool then_too_long = false;  // behind these lines there was one that is too long, left out

  // Some cuts of `text` at line ends, at most `count`, about equally long.
  std::vector<std::string_view> parts(std::size_t count) const;
};

// Memory does not grow with the length of a line: what is longer than kMaxLineBytes is skipped. A
// byte order mark at the start of an input is not part of its first line. The last line of an input
// need not end with a newline.
class LineBlocks {
 public:
  explicit LineBlocks(std::vector<std::string> paths,
                      std::size_t block_bytes = std::size_t{8} << 20);

  // The next block; false at the end of the last input.
  bool next(LineBlock& block);

  std::uint64_t text_bytes() const { return text_bytes_; }      // unpacked, so far
  std::uint64_t packed_bytes() const { return packed_bytes_; }  // as they were read

 private:
  bool fill(LineBlock& block);
  void skip_rest_of_line(LineBlock& block);

  std::vector<std::string> paths_;
  std::size_t block_bytes_;
  std::size_t input_ = 0;
  std::unique_ptr<ByteSource> source_;
  bool started_ = false;     // something of this input was handed out
  bool skipping_ = false;    // the start of the line was too long
  std::vector<char> carry_;  // the start of a line whose end has not been read
  std::uint64_t text_bytes_ = 0;
  std::uint64_t packed_bytes_ = 0;
};

}  // namespace lazydp
