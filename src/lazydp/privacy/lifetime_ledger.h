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

// What the ledger of a lifetime promises of its source of data.
struct LifetimeTerms {
  Budget budget;               // that all runs together stay within
  std::string unit;            // who is protected, in words: "one example"
  bool disjoint_data = false;  // declared: no example is in two data sets of different names

  // Throws UserError for a budget that is none, or for disjoint data of units of several examples:
  // a person is in the data of many days.
  void validate() const;
};

// One run, as the ledger of a lifetime knows it.
struct LifetimeEntry {
  std::string run;   // a name that no other run has
  std::string data;  // the name of its data; empty: it may be any of the source
  bool released = false;
  Ledger ledger = {};  // what its model spent, once released; until then all that it may spend
};

// All runs on a source of data.
//
// A run is entered with all that it plans to spend before it draws a sample (`reserved`), and with
// what its model did spend before that is published (`released`). So whenever a process ends, the
// file counts at least what was done. A run that came to nothing stays counted until its owner
// withdraws it.
//
// Runs on the same data, or on data that is not named, compose one after the other; runs on
// disjoint data in parallel: no example is in two of them, so the costliest counts.
class Lifetime {
 public:
  explicit Lifetime(LifetimeTerms terms) : terms_(std::move(terms)) { terms_.validate(); }

  const LifetimeTerms& terms() const { return terms_; }
  const std::vector<LifetimeEntry>& entries() const { return entries_; }

  // Returns what has been spent or reserved: the smallest epsilon, at the budget's delta, that all
  // runs together are known to have.
  double epsilon() const;

  // Returns the ledgers that an example of the entry's data may have had part in, with the entry
  // added, or in the place of the one of the same run: none may exceed the budget.
  std::vector<Ledger> with(const LifetimeEntry& entry) const;

  // Enters a run, in the place of what was entered of it before. Throws PrivacyError, and changes
  // nothing, if that would exceed the budget, or if the run was released and would count for less.
  void enter(const LifetimeEntry& entry);

  // Takes out a run of which nothing was published. Throws UserError for one that is not there,
  // PrivacyError for one that was released.
  void withdraw(std::string_view run);

 private:
  friend Lifetime lifetime_from(const Json& json);

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
  // As Lifetime::enter and withdraw, on the disk.
  void enter(const LifetimeEntry& entry) const;
  void withdraw(std::string_view run) const;

 private:
  std::string path_;
};

// Returns the smallest noise multiplier with which a run fits what is left: `planned` returns its
// events for a noise multiplier. Throws PrivacyError if no noise is enough.
double noise_within(const Lifetime& lifetime, const LifetimeEntry& run,
                    const std::function<Ledger(double)>& planned);

}  // namespace lazydp
