#include "lazydp/cli/search/search_folder.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/io/atomic_file.h"
#include "lazydp/base/io/folder.h"

namespace lazydp::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kState = "/search.secret";
constexpr const char* kTrials = "/trials";

// The streams of a search's draws; those of a trial are addressed by its number.
enum Draws : TableId { number_of_trials = 0, candidate = 1, score_noise = 2, key_of_trial = 3 };

void remove_folder(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) throw IoError("cannot remove " + path + ": " + error.message());
  flush_folder(fs::path(path).parent_path().string());
}

Step step_of(std::uint64_t number) {
  check(number >= 1 && number <= kLastStep, "the number of a trial is an address");
  return static_cast<Step>(number);
}

}  // namespace

SearchFolder::SearchFolder(const std::string& path, std::optional<Passphrase> passphrase)
    : path_(path), passphrase_(std::move(passphrase)), lock_(path) {}

SearchFolder SearchFolder::open(const std::string& path, const Json& settings, const TrialsLaw& law,
                                std::optional<Passphrase> passphrase) {
  if (!exists(path) || holds_nothing(path, "search.secret.")) {
    make_private_folder(path);
    SearchFolder folder(path, std::move(passphrase));
    folder.begin(settings, law);
    return folder;
  }
  if (!exists(path + kState)) {
    throw UserError("out is '" + path + "', which holds something else; name another folder");
  }
  SearchFolder folder(path, std::move(passphrase));
  folder.read(settings);
  if (folder.finished()) {
    folder.remove_trials();  // it may have been killed before
    throw UserError("out is '" + path + "', which holds a finished search: its model is in " +
                    folder.model() + "; another search needs another folder, and another budget");
  }
  return folder;
}

void SearchFolder::begin(const Json& settings, const TrialsLaw& law) {
  settings_ = settings;
  seed_ = Seed::from_os();
  RandomStream random(*seed_, Purpose::selection, number_of_trials, 0);
  trials_ = trials_at(law, random.uniform());
  write();
}

void SearchFolder::read(const Json& settings) {
  SealedReader file(path_ + kState, passphrase());
  std::uint64_t size = 0;
  file.read(std::as_writable_bytes(std::span(&size, 1)));
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
  if (size > kMostBytes) throw IoError(path_ + kState + " is damaged");
  std::string text(size, '\0');
  file.read(std::as_writable_bytes(std::span(text)));
  file.finish();
  try {
    const Json state = Json::parse(text);
    settings_ = state.at("settings");
    seed_ = Seed::restored(state.at("seed").get<Seed::Bytes>(), true);
    trials_ = natural<std::uint64_t>(state.at("trials"));
    done_ = natural<std::uint64_t>(state.at("done"));
    best_ = natural<std::uint64_t>(state.at("best"));
    best_score_ = state.at("best_score").get<double>();
  } catch (const Json::exception& error) {
    throw IoError(path_ + kState + " cannot be read: " + error.what());
  }
  if (settings_ == settings) return;
  const Json::json_pointer data("/candidates/0/data");
  if (settings_[data] != settings[data]) {
    throw PrivacyError("out is '" + path_ +
                       "', which holds a search over other data: under its key, noise would be "
                       "drawn for two different gradients; name another folder");
  }
  throw UserError("out is '" + path_ +
                  "', which holds a search with other settings; name another folder, or go on with "
                  "the command that began it");
}

void SearchFolder::write() const {
  const Json state = {{"settings", settings_}, {"seed", seed_->reveal()},
                      {"trials", trials_},     {"done", done_},
                      {"best", best_},         {"best_score", best_score_}};
  const std::string text = state.dump();
  const std::uint64_t size = text.size();
  AtomicFile file(path_ + kState, kOwnerFile);
  SealedWriter sealed(file, passphrase());
  sealed.write(std::as_bytes(std::span(&size, 1)));
  sealed.write(std::as_bytes(std::span(text)));
  sealed.finish();
  file.commit();
}

bool SearchFolder::finished() const {
  return exists(model() + "/card.json");
}

std::string SearchFolder::trial(std::uint64_t number) const {
  return path_ + kTrials + "/" + std::to_string(number);
}

std::uint64_t SearchFolder::candidate_of(std::uint64_t number, std::uint64_t candidates) const {
  return RandomStream(*seed_, Purpose::selection, candidate, step_of(number)).below(candidates);
}

Seed SearchFolder::seed_of(std::uint64_t number) const {
  RandomStream random(*seed_, Purpose::selection, key_of_trial, step_of(number));
  Seed::Bytes bytes;
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.next32());
  return Seed::restored(bytes, seed_->secret());
}

RandomStream SearchFolder::score_noise_of(std::uint64_t number) const {
  return {*seed_, Purpose::selection, score_noise, step_of(number)};
}

void SearchFolder::record(double score) {
  check(done_ < trials_, "a trial of the search");
  ++done_;
  if (best_ == 0 || score > best_score_) {
    best_ = done_;
    best_score_ = score;
  }
  write();
  prepare(done_ + 1);
}

void SearchFolder::prepare(std::uint64_t number) const {
  make_folder(path_ + kTrials, kOwnerFolder);
  for (const fs::path& trial : entries_of(path_ + kTrials)) {
    const std::string name = trial.filename().string();
    if (name != std::to_string(best_) && name != std::to_string(number)) {
      remove_folder(trial.string());
    }
  }
}

void SearchFolder::remove_trials() const {
  remove_folder(path_ + kTrials);
}

}  // namespace lazydp::cli
