#pragma once
// The ledger of a lifetime: what all runs on a source of data have spent and may still spend, in
// one file that every run reads before it begins and writes before it ends.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lazydp/base/text/json.h"
#include "lazydp/privacy/calibration.h"
#include "lazydp/privacy/ledger.h"

namespace lazydp {

inline constexpr const char* kSingleExample = "example";

// What the ledger of a lifetime promises of its source of data.
struct LifetimeTerms {
  Budget budget;                      // that all runs together stay within
  std::string unit = kSingleExample;  // who is protected; otherwise the key column whose value
                                      // all examples of a unit have
  bool disjoint_data = false;         // declared: no example is in two data sets of different names

  // Throws UserError for a budget that is none, or for disjoint data of units of several examples:
  // a person is in the data of many days.
  void validate() const;
};

// One run, as the ledger of a lifetime knows it.
struct LifetimeEntry {
  std::string run;        // a name that no other run has
  std::string data = {};  // the name of its data; empty: it may be any of the source
  Ledger published = {};  // what the models that it released have spent
  Ledger reserved = {};   // all that it may spend, what it published included; empty: nothing more

  // Returns what counts.
  const Ledger& counted() const { return reserved.empty() ? published : reserved; }
};

// All runs on a source of data.
//
// A run reserves all that it plans to spend before it draws a sample, and says what its model spent
// before that is published. So whenever a process ends, the file counts at least what was done. A
// run that came to nothing stays counted until its owner withdraws it.
//
// Runs on the same data, or on data that is not named, compose one after the other; runs on
// disjoint data in parallel: no example is in two of them, so the costliest counts.
class Lifetime {
 public:
  explicit Lifetime(LifetimeTerms terms) : terms_(std::move(terms)) { terms_.validate(); }

  const LifetimeTerms& terms() const { return terms_; }
  const std::vector<LifetimeEntry>& entries() const { return entries_; }

  // Returns what has been spent or reserved: the epsilon, at the budget's delta, that all runs
  // together are known to have at most.
  double epsilon() const;

  // Reserve `planned` for a run, or count what its released model `spent` in the place of that.
  // What a run published is part of what it plans. Throw PrivacyError, and change nothing, if the
  // budget would be exceeded, if the run has published more than this, or on other data.
  void reserve(const std::string& run, const std::string& data, const Ledger& planned);
  void publish(const std::string& run, const std::string& data, const Ledger& spent);

  // Takes back what a run reserved and did not publish. Throws UserError for a run that is not
  // there, PrivacyError for one that has nothing to take back.
  void withdraw(std::string_view run);

 private:
  friend Lifetime lifetime_from(const Json& json);

  void replace(LifetimeEntry entry);

  LifetimeTerms terms_;
  std::vector<LifetimeEntry> entries_;
};

Json json_of(const Lifetime& lifetime);

// Inverts json_of(Lifetime). Throws IoError for any other JSON, UserError for values that no ledger
// can have.
Lifetime lifetime_from(const Json& json);

// The file of a Lifetime. Every change reads it, and replaces it as a whole, while no other process
// can: a power cut leaves the one or the other.
class LifetimeFile {
 public:
  // Makes the file. Throws UserError if there is one.
  static void create(const std::string& path, const LifetimeTerms& terms);

  explicit LifetimeFile(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  // Throws IoError, which names the file, if it cannot be read.
  Lifetime read() const;
  // As Lifetime's, on the disk.
  void reserve(const std::string& run, const std::string& data, const Ledger& planned) const;
  void publish(const std::string& run, const std::string& data, const Ledger& spent) const;
  void withdraw(std::string_view run) const;

 private:
  template <typename Change>
  void change(const Change& change) const;

  std::string path_;
};

// Returns the smallest noise multiplier with which so many runs that are alike stay within the
// budget: `planned` returns the events of one for a noise multiplier. Throws UserError if no noise
// is enough.
double noise_for_runs(const LifetimeTerms& terms, std::uint64_t runs,
                      const std::function<Ledger(double)>& planned);

}  // namespace lazydp
