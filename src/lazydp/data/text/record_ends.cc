#include "lazydp/data/text/record_ends.h"

#include <cstring>

namespace lazydp {
namespace {

constexpr std::size_t kNone = std::string_view::npos;
constexpr std::size_t kBroken = kNone - 1;  // a quote is followed by anything but a separator

}  // namespace

std::size_t RecordEnds::first(std::string_view text, bool ended) const {
  const std::size_t newline = text.find('\n');
  if (newline == kNone) return kNone;
  if (!quotes_ || std::memchr(text.data(), '"', newline) == nullptr) return newline + 1;
  const std::size_t end = first_with_quotes(text.substr(0, kMaxLineBytes + 1));
  if (end == kNone && !ended && text.size() <= kMaxLineBytes) return kNone;
  return end == kNone || end == kBroken ? newline + 1 : end;
}

// Passes over one field after the other, as Fields does.
std::size_t RecordEnds::first_with_quotes(std::string_view text) const {
  std::size_t newline = text.find('\n');
  for (std::size_t i = 0;;) {
    skip_spaces(text, i);
    if (i < text.size() && text[i] == '"') {
      if (!skip_quoted(text, i)) return kNone;
      skip_spaces(text, i);
      const std::string_view rest = text.substr(i);
      if (rest.starts_with('\n')) return i + 1;
      if (rest.starts_with("\r\n")) return i + 2;
      if (rest.empty() || rest == "\r") return kNone;
      if (!rest.starts_with(separator_)) return kBroken;
      i += separator_.size();
    } else {
      if (newline < i) newline = text.find('\n', i);
      if (newline == kNone) return kNone;
      i = next_field(text.substr(0, newline), i);
      if (i == kNone) return newline + 1;
    }
  }
}

// Returns where a field of the line starts, behind the unquoted one at `i`, that may be the next
// quoted one; npos if there is none. A separator of one character lets it pass over all fields
// before the next quote at once.
std::size_t RecordEnds::next_field(std::string_view line, std::size_t i) const {
  if (separator_.size() > 1) {
    const std::size_t separator = line.find(separator_, i);
    return separator == kNone ? kNone : separator + separator_.size();
  }
  const std::size_t quote = line.find('"', i);
  if (quote == kNone) return kNone;
  const std::size_t before = line.substr(i, quote - i).rfind(separator_[0]);
  if (before != kNone) return i + before + 1;
  const std::size_t behind = line.find(separator_[0], quote);
  return behind == kNone ? kNone : behind + 1;
}

// Moves `i` from an opening quote to behind the closing one; inside, a quote is written twice.
bool RecordEnds::skip_quoted(std::string_view text, std::size_t& i) {
  for (++i;; ++i) {
    i = text.find('"', i);
    if (i == kNone || i + 1 == text.size()) return false;
    if (text[++i] != '"') return true;
  }
}

}  // namespace lazydp
