#include "lazydp/cli/config.h"

#include <algorithm>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/io/atomic_file.h"
#include "lazydp/base/text/toml.h"
#include "lazydp/cli/parse_value.h"

namespace lazydp::cli {
namespace {

// Returns a value as the command line would spell it; nothing for a list or a table.
Text text_of(const toml::node& node) {
  if (const auto* v = node.as_string()) return v->get();
  if (const auto* v = node.as_integer()) return std::to_string(v->get());
  if (const auto* v = node.as_floating_point()) return exact_text(v->get());
  if (const auto* v = node.as_boolean()) return v->get() ? "true" : "false";
  return std::nullopt;
}

// Returns the values of a list, or the one value of anything else; nothing if one of them is not a
// value.
std::vector<std::string> values_of(const toml::node& node) {
  std::vector<std::string> values;
  const toml::array* list = node.as_array();
  const std::size_t count = list != nullptr ? list->size() : 1;
  for (std::size_t i = 0; i < count; ++i) {
    const Text text = text_of(list != nullptr ? *list->get(i) : node);
    if (!text) return {};
    values.push_back(*text);
  }
  return values;
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

std::vector<Setting> read_settings(const std::string& path, std::span<const Flag> flags) {
  std::vector<Setting> settings;
  const toml::table table = parse_toml(read_text(path, "the config file "), "config file " + path);
  for (const auto& [key, node] : table) {
    const Flag& flag = flag_of(path, key.str(), flags);
    settings.push_back({std::string(flag.name), values_of(node)});
    if (!settings.back().values.empty()) continue;
    throw UserError("config file " + path + ": the value of '" + std::string(key.str()) +
                    "' must be text, a number, true or false, or a list of these");
  }
  return settings;
}

void read_config_file(const std::string& path, std::span<const Flag> flags, FlagTexts& given) {
  for (const Setting& setting : read_settings(path, flags)) {
    Text& value = given.*std::ranges::find(flags, setting.flag, &Flag::name)->value;
    if (value) continue;
    value = "";
    for (const std::string& text : setting.values) *value += (value->empty() ? "" : ",") + text;
  }
}

}  // namespace lazydp::cli
