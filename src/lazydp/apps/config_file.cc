#include "lazydp/apps/config_file.h"

#include <toml++/toml.h>

#include <algorithm>
#include <vector>

#include "lazydp/apps/nearest.h"
#include "lazydp/base/error.h"
#include "lazydp/base/exact_text.h"
#include "lazydp/base/read_text.h"

namespace lazydp::apps {
namespace {

toml::table parse(const std::string& path) {
  try {
    return toml::parse(read_text(path, "the config file "), path);
  } catch (const toml::parse_error& error) {
    throw UserError("config file " + path + ", line " + std::to_string(error.source().begin.line) +
                    ": " + std::string(error.description()));
  }
}

// A value as the command line would spell it; a list's elements are joined by commas.
Text text_of(const toml::node& node) {
  if (const auto* v = node.as_string()) return v->get();
  if (const auto* v = node.as_integer()) return std::to_string(v->get());
  if (const auto* v = node.as_floating_point()) return exact_text(v->get());
  if (const auto* v = node.as_boolean()) return v->get() ? "true" : "false";
  const toml::array* list = node.as_array();
  if (list == nullptr || list->empty()) return std::nullopt;
  std::string joined;
  for (const toml::node& element : *list) {
    const Text text = element.is_array() ? std::nullopt : text_of(element);
    if (!text) return std::nullopt;
    joined += (joined.empty() ? "" : ",") + *text;
  }
  return joined;
}

const Flag& flag_of(const std::string& path, std::string_view key, std::span<const Flag> flags) {
  const std::string name = "--" + std::string(key);
  const auto found = std::ranges::find(flags, name, &Flag::name);
  if (found != flags.end() && found->name != "--config") return *found;
  std::vector<std::string_view> names;
  for (const Flag& flag : flags) names.push_back(flag.name);
  const std::string_view meant = nearest(name, names);
  throw UserError("config file " + path + ": unknown key '" + std::string(key) + "'; " +
                  (meant.empty() ? "keys are the flags of --help without their dashes"
                                 : "did you mean " + std::string(meant.substr(2)) + "?"));
}

}  // namespace

void read_config_file(const std::string& path, std::span<const Flag> flags, Given& given) {
  for (const auto& [key, node] : parse(path)) {
    const Flag& flag = flag_of(path, key.str(), flags);
    const Text text = text_of(node);
    if (!text) {
      throw UserError("config file " + path + ": the value of '" + std::string(key.str()) +
                      "' must be text, a number, true or false, or a list of these");
    }
    Text& value = given.*flag.value;
    if (!value) value = text;
  }
}

}  // namespace lazydp::apps
