#pragma once
// Tells a file that is not text by its first bytes.

#include <string>
#include <string_view>

namespace lazydp {

// What a file that does not hold separated text holds, in words, and what to do with it.
struct FileKind {
  std::string_view name;    // "a Parquet file"
  std::string_view advice;  // how to convert it instead
  bool json = false;
};

// Returns the kind of a file with these first bytes, some hundred of them; null for text.
const FileKind* file_kind(std::string_view first);

// Throws UserError, naming the kind, if these are the first bytes of an input that is not text.
// JSON is text if `json`.
void require_text(std::string_view first, const std::string& input, bool json);

}  // namespace lazydp
