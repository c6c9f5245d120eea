#include "lazydp/cli/run/run_directory.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/io/atomic_file.h"
#include "lazydp/base/io/folder.h"
#include "lazydp/base/text/json.h"
#include "lazydp/base/text/toml.h"
#include "lazydp/cli/config.h"
#include "lazydp/cli/run/ranks.h"
#include "lazydp/data/schema_json.h"
#include "lazydp/release/card.h"

namespace lazydp::cli {
namespace {

namespace fs = std::filesystem;

void require_run(const std::string& folder) {
  if (exists(folder + "/config.toml")) return;
  throw UserError("'" + folder + "' is not the folder of a run (it has no config.toml)");
}

}  // namespace

std::vector<Flag> flags_of_runs() {
  std::vector<Flag> flags;
  std::ranges::copy_if(all_flags(), std::back_inserter(flags), [](const Flag& flag) {
    return (flag.verbs & train_flags) != 0 && flag.kept;
  });
  return flags;
}

std::string config_text(const FlagTexts& given) {
  std::string text;
  for (const Flag& flag : flags_of_runs()) {
    const Text& value = given.*flag.value;
    if (value) text += std::string(flag.name.substr(2)) + " = " + toml_text(*value) + "\n";
  }
  return text;
}

Json settings_of(const RunOptions& options) {
  Json settings = {{"plan", json_of(options.plan)},
                   {"delta", options.delta},
                   {"model", json_of(options.model.shape)},
                   {"data", identity_of(options.task)},
                   {"examples", options.task.examples()},
                   {"sampling", sampling_name(options.sampling)},
                   {"seed", options.seed ? "fixed" : "secret"}};
  if (options.before_data > 0) settings["before_data"] = options.before_data;
  return settings;
}

std::optional<Passphrase> choose_passphrase(const FlagTexts& given) {
  if (!given.key_file) return std::nullopt;
  std::string secret = read_text(*given.key_file, "the key file ");
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
  if (secret.size() < 8) {
    throw UserError("key-file is '" + *given.key_file + "', which holds " +
                    std::to_string(secret.size()) +
                    " bytes; it must hold a passphrase or a key of at least 8");
  }
  return Passphrase(std::move(secret));
}

RunDirectory::RunDirectory(const std::string& path) : path_(path) {
  if (ranks().rank() == 0) lock_.emplace(path);
}

RunDirectory RunDirectory::for_trial(const std::string& path) {
  make_folder(path, kOwnerFolder);
  return RunDirectory(path);
}

RunDirectory RunDirectory::for_run(const std::string& path, const FlagTexts& given) {
  if (ranks().rank() != 0 && !exists(path + "/config.toml")) {
    throw UserError("out is '" + path +
                    "', where this rank does not find what rank 0 wrote; it must be a folder that "
                    "all ranks share");
  }
  if (!exists(path) || holds_nothing(path, "config.toml.")) {
    make_private_folder(path);
    RunDirectory run(path);
    run.write_config(given);
    return run;
  }
  RunDirectory run = existing(path);
  if (config_text(run.config()) != config_text(given)) {
    throw UserError("out is '" + path +
                    "', which holds a run with other settings; name another folder, or go on with "
                    "lazydp resume " +
                    path);
  }
  if (run.released()) {
    throw UserError("out is '" + path +
                    "', which holds a finished run; name another folder, or train it further with "
                    "lazydp resume " +
                    path + " --steps N");
  }
  return run;
}

RunDirectory RunDirectory::existing(const std::string& path) {
  require_run(path);
  return RunDirectory(path);
}

bool RunDirectory::released() const {
  return exists(model() + "/card.json");
}

void RunDirectory::put_aside_model() const {
  if (!released()) return;
  const Json card = verified_card(model());
  std::uint64_t steps = 0;
  for (const Json& event : card.at("ledger")) steps += natural<std::uint64_t>(event.at("steps"));
  const Json::json_pointer before("/plan/initial_model/ledger");
  if (card.contains(before)) {
    for (const Json& event : card[before]) steps -= natural<std::uint64_t>(event.at("steps"));
  }
  const std::string name = model() + "-step-" + std::to_string(steps);
  // The name is taken if a run was ended right here, continued and released the same model again.
  std::error_code error;
  fs::rename(model(), name, error);
  for (int again = 2; error == std::errc::directory_not_empty && again < 100; ++again) {
    fs::rename(model(), name + "-" + std::to_string(again), error);
  }
  if (error) throw IoError("cannot rename " + model() + ": " + error.message());
}

FlagTexts RunDirectory::config() const {
  return read_run_config(path_);
}

FlagTexts read_run_config(const std::string& folder) {
  require_run(folder);
  FlagTexts given;
  read_config_file(folder + "/config.toml", flags_of_runs(), given);
  // In runs that earlier versions began a unit sends one example.
  if (given.privacy_unit && *given.privacy_unit != "example" && !given.examples_per_unit) {
    given.examples_per_unit = "1";
  }
  return given;
}

void RunDirectory::write_config(const FlagTexts& given) const {
  if (ranks().rank() != 0) return;
  write_text(path_ + "/config.toml", config_text(given), kOwnerFile);
}

}  // namespace lazydp::cli
