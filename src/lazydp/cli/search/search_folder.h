#pragma once
// The folder of a private search: its secret state, its trials, and the model it ends in.

#include <cstdint>
#include <optional>
#include <string>

#include "lazydp/base/io/folder.h"
#include "lazydp/checkpoint/sealed_file.h"
#include "lazydp/privacy/private_selection.h"
#include "lazydp/random/seed.h"
#include "lazydp/random/stream.h"
#include "lazydp/train/plan_json.h"

namespace lazydp::cli {

//   search.secret  the seed of all that the search draws, how many trials there are, and the best
//   trials/        a run's folder for the best trial so far, and for the one that is trained
//   model/         the part that may be published, once the search is finished
//
// Everything that a search draws is a pure function of one seed from the operating system: which
// candidate a trial has, its key, its samples and the noise of its score. So a search that is
// killed and goes on ends in the model of one that never was, and being killed chooses nothing. The
// number of trials is drawn once, before the first, and kept.
class SearchFolder {
 public:
  // Makes the folder for a new search, or opens one that a search with the same settings began.
  // Throws UserError for a folder that holds anything else, a search with other settings or a
  // finished one, or that another process is using; PrivacyError if the data is another.
  static SearchFolder open(const std::string& path, const Json& settings, const TrialsLaw& law,
                           std::optional<Passphrase> passphrase);

  const std::string& path() const { return path_; }
  std::string model() const { return path_ + "/model"; }
  std::string trial(std::uint64_t number) const;

  std::uint64_t trials() const { return trials_; }  // secret
  std::uint64_t done() const { return done_; }      // trials that have a score; secret
  std::uint64_t best() const { return best_; }      // number of the best of those, from 1; secret

  // Return the secret draws of trial `number`.
  std::uint64_t candidate_of(std::uint64_t number, std::uint64_t candidates) const;
  Seed seed_of(std::uint64_t number) const;
  RandomStream score_noise_of(std::uint64_t number) const;

  // Records the score of trial done() + 1 and keeps the better of it and the best before it.
  // Durable before the loser's folder is removed.
  void record(double score);

  // Makes room for trial `number`, and removes all others but the best.
  void prepare(std::uint64_t number) const;

  // Removes all trials: nothing is left to go on from or to release without paying.
  void remove_trials() const;

 private:
  SearchFolder(const std::string& path, std::optional<Passphrase> passphrase);
  void begin(const Json& settings, const TrialsLaw& law);
  void read(const Json& settings);
  void write() const;
  bool finished() const;
  const Passphrase* passphrase() const { return passphrase_ ? &*passphrase_ : nullptr; }

  std::string path_;
  std::optional<Passphrase> passphrase_;
  FolderLock lock_;
  Json settings_;
  std::optional<Seed> seed_;
  std::uint64_t trials_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t best_ = 0;
  double best_score_ = 0.0;
};

}  // namespace lazydp::cli
