#include "lazydp/cli/run/persistent_run.h"

#include <filesystem>
#include <string>

#include "lazydp/base/error.h"

namespace lazydp::cli {

void Kept::open_checkpoint(std::size_t back) {
  if (!folder.empty()) {
    from = folder.open(back);
    return;
  }
  if (directory.released()) {
    throw PrivacyError(directory.path() +
                       " has released a model, and its checkpoint is gone: to train again would "
                       "spend the budget twice; start a run in another folder and count both");
  }
}

std::string Kept::run() const {
  return std::filesystem::absolute(directory.path()).lexically_normal().string();
}

namespace {

// Before a position was hashed, the last examples were held out: how many depended on the size of
// the file, and which these were is not what they would be now.
void require_hashed_positions(const Json& settings) {
  const Json::json_pointer split("/data/split");
  if (!settings.contains(split)) return;
  if (!settings[split].get<std::string>().starts_with("by position, ")) return;
  throw PrivacyError(
      "the run was begun by an earlier version, which held out the last examples of the data; this "
      "one holds out by the hash of an example's position and would train on what was held out; "
      "finish the run with the version that began it, or start another");
}

}  // namespace

void require_same_settings(const Json& checkpoint, const Json& now) {
  require_hashed_positions(checkpoint);
  const Json before = checkpoint.flatten();
  const Json after = now.flatten();
  std::string differences;
  const auto text = [](const Json& json, const std::string& key) {
    return json.contains(key) ? json[key].dump() : std::string("nothing");
  };
  const auto note = [&](const std::string& key) {
    differences += (differences.empty() ? "" : "; ") + key.substr(key.rfind('/') + 1) + " was " +
                   text(before, key) + " and is " + text(after, key);
  };
  for (const auto& [key, value] : before.items()) {
    if (!after.contains(key) || after[key] != value) note(key);
  }
  for (const auto& [key, value] : after.items()) {
    if (!before.contains(key)) note(key);
  }
  if (differences.empty()) return;
  throw PrivacyError("the run's state is of other settings (" + differences +
                     "); go on under new ones with lazydp resume --branch, which settles it first");
}

}  // namespace lazydp::cli
