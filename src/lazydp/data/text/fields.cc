#include "lazydp/data/text/fields.h"

#include <algorithm>

namespace lazydp {
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

// A quote inside is written twice.
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
