#include "lazydp/base/text/toml.h"

#include <nlohmann/json.hpp>

#include "lazydp/base/error.h"

namespace lazydp {

namespace {

// toml++ 3.3 tests characters for white space, and for some beyond ASCII (U+00A1 to U+0499, and
// others) that test is undefined behaviour. It does so in too many places to guard them all.
// Therefore it sees none of these characters: each byte beyond ASCII is replaced by a character
// that it knows is not white space, and the bytes are put back into the parsed text.
constexpr char kFirst = '\xEE';  // U+E080 to U+E0FF, as UTF-8 has them

bool beyond_ascii(char c) {
  return static_cast<unsigned char>(c) >= 0x80;
}

std::string disguised(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (beyond_ascii(c)) {
      const auto byte = static_cast<unsigned char>(c);
      out += {kFirst, static_cast<char>(0x80 | byte >> 6), static_cast<char>(0x80 | (byte & 0x3F))};
    } else {
      out += c;
    }
  }
  return out;
}

std::string revealed(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == kFirst && text.size() - i >= 3) {
      const auto high = static_cast<unsigned char>(text[i + 1]);
      const auto low = static_cast<unsigned char>(text[i + 2]);
      if (high == 0x82 || high == 0x83) {
        out += static_cast<char>((high & 3) << 6 | (low & 0x3F));
        i += 2;
        continue;
      }
    }
    out += text[i];
  }
  return out;
}

bool is_utf8(const std::string& text) {
  try {
    (void)nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

void require_utf8(const std::string& text, const std::string& where) {
  if (!is_utf8(text)) throw UserError(where + ": it must be text in UTF-8");
}

[[noreturn]] void refuse_key(const std::string& key, const std::string& where) {
  throw UserError(where + ": unknown key '" + key + "'; keys are ASCII");
}

// Puts the original bytes back in place, so that nodes keep their lines.
void reveal(toml::node& node, const std::string& where) {
  if (auto* text = node.as_string()) {
    text->get() = revealed(text->get());
    require_utf8(text->get(), where);  // an escape may have named a placeholder
  } else if (auto* list = node.as_array()) {
    for (toml::node& element : *list) reveal(element, where);
  } else if (auto* table = node.as_table()) {
    for (auto&& [key, value] : *table) {
      const std::string name = revealed(key.str());
      if (name != key.str()) refuse_key(name, where);
      reveal(value, where);
    }
  }
}

}  // namespace

toml::table parse_toml(std::string_view text, const std::string& where) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  require_utf8(std::string(text), where);
  try {
    toml::table table = toml::parse(disguised(text));
    reveal(table, where);
    return table;
  } catch (const toml::parse_error& error) {
    throw UserError(where + ", line " + std::to_string(error.source().begin.line) + ": " +
                    revealed(error.description()));
  }
}

}  // namespace lazydp
