#include "lazydp/data/text/lines.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/data/text/file_kind.h"

namespace lazydp {

std::vector<std::string_view> LineBlock::parts(std::size_t count) const {
  std::vector<std::string_view> cuts;
  std::string_view rest = text;
  for (std::size_t i = 0; i < count && !rest.empty(); ++i) {
    const std::size_t share = rest.size() / (count - i);
    // Every record ends with a newline, and the last end is known, so one is always found.
    const std::size_t least = std::max<std::size_t>(1, share);
    std::size_t end = 0;
    if (record_ends.empty()) {
      end = rest.find('\n', least - 1) + 1;
    } else {
      const std::size_t before = text.size() - rest.size();
      end = *std::ranges::lower_bound(record_ends, before + least) - before;
    }
    cuts.push_back(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  return cuts;
}

namespace {

// Returns whether the first line ends with a carriage return that no newline follows.
bool ends_with_returns(std::string_view text, bool quotes) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quotes && text[i] == '"') quoted = !quoted;
    if (quoted || (text[i] != '\r' && text[i] != '\n')) continue;
    return text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n');
  }
  return false;
}

}  // namespace

LineBlocks::LineBlocks(std::vector<std::string> paths, TextRules rules, std::size_t block_bytes)
    : paths_(std::move(paths)), rules_(std::move(rules)), block_bytes_(block_bytes) {
  check(block_bytes_ > kMaxLineBytes, "a block is longer than a line");
}

bool LineBlocks::next(LineBlock& block) {
  while (input_ < paths_.size()) {
    if (!source_) {
      source_ = open_source(paths_[input_], &packed_bytes_);
      started_ = false;
    }
    if (fill(block)) return true;
    source_.reset();
    ++input_;
  }
  return false;
}

// Fills `block`; returns false at the end of the input.
bool LineBlocks::fill(LineBlock& block) {
  if (block.capacity <= block_bytes_) {
    block.capacity = block_bytes_ + 1;  // room for the newline that the last line may lack
    block.buffer = std::make_unique_for_overwrite<char[]>(block.capacity);
  }
  block.then_too_long = false;
  block.input = input_;
  char* const buffer = block.buffer.get();
  std::copy(carry_.begin(), carry_.end(), buffer);
  const std::size_t carried = std::exchange(carry_, {}).size();
  const std::size_t room = block_bytes_ - carried;
  const std::size_t got = source_->read({buffer + carried, room});
  text_bytes_ += got;
  std::size_t size = carried + got;
  const bool ended = got < room;
  block.starts_input = !std::exchange(started_, true);
  if (block.starts_input) {
    const std::string_view first(buffer, size);
    require_text(first.substr(0, 256), paths_[input_], rules_.json);
    returns_ = ends_with_returns(first, rules_.ends.quotes());
  }
  if (returns_) {
    std::replace(buffer + carried, buffer + carried + got, '\r', '\n');
  }
  if (ended && size > 0 && buffer[size - 1] != '\n') buffer[size++] = '\n';
  block.text = {buffer, size};

  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (block.starts_input && block.text.starts_with(kByteOrderMark)) block.text.remove_prefix(3);
  if (skipping_) skip_rest_of_line(block);

  const std::size_t end = end_of_last_record(block, ended);
  const std::string_view rest = block.text.substr(end);
  block.text = block.text.substr(0, end);
  if (rest.size() > kMaxLineBytes) {
    block.then_too_long = skipping_ = true;
  } else {
    carry_.assign(rest.begin(), rest.end());
  }
  return !(ended && size == 0);
}

// Returns where the last whole record of `block` ends, 0 if there is none; notes the ends of some
// records on the way, unless every newline is one.
std::size_t LineBlocks::end_of_last_record(LineBlock& block, bool ended) const {
  constexpr std::size_t kApart = std::size_t{64} << 10;
  const std::string_view text = block.text;
  block.record_ends.clear();
  if (!rules_.ends.quotes() || std::memchr(text.data(), '"', text.size()) == nullptr) {
    return text.rfind('\n') + 1;
  }
  std::size_t end = 0;
  for (std::size_t noted = 0; end < text.size();) {
    const std::size_t length = rules_.ends.first(text.substr(end), ended);
    if (length == std::string_view::npos) break;
    end += length;
    if (end - noted >= kApart) block.record_ends.push_back(noted = end);
  }
  if (block.record_ends.empty() || block.record_ends.back() < end) block.record_ends.push_back(end);
  return end;
}

void LineBlocks::skip_rest_of_line(LineBlock& block) {
  const std::size_t newline = block.text.find('\n');
  skipping_ = newline == std::string_view::npos;
  block.text.remove_prefix(skipping_ ? block.text.size() : newline + 1);
}

std::optional<Field> Fields::next_in_full() {
  std::size_t start = next_;
  if (trim_) {
    while (start < line_.size() && line_[start] == ' ') ++start;
  }
  if (quotes_ && start < line_.size() && line_[start] == '"') return next_quoted(start);
  std::size_t end = std::min(line_.find(separator_, start), line_.size());
  next_ = end == line_.size() ? end + 1 : end + separator_.size();
  if (trim_) {
    while (end > start && line_[end - 1] == ' ') --end;
  }
  return Field{line_.substr(start, end - start), start + 1};
}

// Unescapes: a quote inside is written twice.
std::optional<Field> Fields::next_quoted(std::size_t start) {
  scratch_.clear();
  std::size_t i = start + 1;
  for (; i < line_.size(); ++i) {
    if (line_[i] == '"' && (i + 1 == line_.size() || line_[i + 1] != '"')) break;
    if (line_[i] == '"') ++i;
    scratch_ += line_[i];
  }
  if (i >= line_.size()) return std::nullopt;
  for (++i; trim_ && i < line_.size() && line_[i] == ' ';) ++i;
  const bool last = i == line_.size();
  if (!last && !line_.substr(i).starts_with(separator_)) return std::nullopt;
  next_ = last ? i + 1 : i + separator_.size();
  return Field{scratch_, start + 1};
}

}  // namespace lazydp
