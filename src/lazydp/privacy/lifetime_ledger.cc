#include "lazydp/privacy/lifetime_ledger.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <sstream>

#include "lazydp/base/error.h"
#include "lazydp/base/io/atomic_file.h"
#include "lazydp/base/io/file_lock.h"
#include "lazydp/privacy/accountant.h"
#include "lazydp/privacy/ledger_json.h"

namespace lazydp {

namespace {

constexpr const char* kFormat = "lazydp-lifetime-ledger";
constexpr int kVersion = 1;
constexpr const char* kOneExample = "one example";

double cost_of(const Ledger& ledger, const Budget& budget) {
  return epsilon(ledger, budget.delta, Accountant::pld);
}

// Returns what examples of the data `name` may have had part in.
Ledger seen_by(const std::string& name, std::span<const LifetimeEntry> entries,
               const LifetimeTerms& terms) {
  Ledger total;
  for (const LifetimeEntry& entry : entries) {
    const bool apart = terms.disjoint_data && !entry.data.empty() && entry.data != name;
    if (!apart) total.append(entry.ledger);
  }
  return total;
}

std::set<std::string> names_of(std::span<const LifetimeEntry> entries, const LifetimeTerms& terms) {
  std::set<std::string> names;
  for (const LifetimeEntry& entry : entries) {
    if (terms.disjoint_data && !entry.data.empty()) names.insert(entry.data);
  }
  if (names.empty()) names.insert("");
  return names;
}

std::vector<LifetimeEntry>::iterator find(std::vector<LifetimeEntry>& entries,
                                          std::string_view run) {
  return std::ranges::find(entries, run, &LifetimeEntry::run);
}

}  // namespace

void LifetimeTerms::validate() const {
  require(budget.epsilon > 0 && std::isfinite(budget.epsilon), "epsilon", budget.epsilon,
          "positive and finite, for example 8.0");
  require(budget.delta > 0 && budget.delta < 1, "delta", budget.delta,
          "above 0 and below 1, for example 1e-6");
  if (disjoint_data && unit != kOneExample) {
    throw UserError("disjoint-data is declared for " + unit +
                    ", which may have examples in the data of many days; it can be declared of "
                    "single examples only");
  }
}

// Days that are alike cost alike.
double Lifetime::epsilon() const {
  std::vector<Ledger> different;
  for (const std::string& name : names_of(entries_, terms_)) {
    Ledger ledger = seen_by(name, entries_, terms_);
    const bool known = std::ranges::any_of(different, [&](const Ledger& other) {
      return std::ranges::equal(other.events(), ledger.events());
    });
    if (!known) different.push_back(std::move(ledger));
  }
  double most = 0.0;
  for (const Ledger& ledger : different) most = std::max(most, cost_of(ledger, terms_.budget));
  return most;
}

std::vector<Ledger> Lifetime::with(const LifetimeEntry& entry) const {
  std::vector<LifetimeEntry> entries = entries_;
  std::erase_if(entries, [&](const LifetimeEntry& other) { return other.run == entry.run; });
  entries.push_back(entry);
  std::vector<Ledger> ledgers;
  for (const std::string& name : names_of(entries, terms_)) {
    const bool concerned = !terms_.disjoint_data || entry.data.empty() || entry.data == name;
    if (concerned) ledgers.push_back(seen_by(name, entries, terms_));
  }
  return ledgers;
}

void Lifetime::enter(const LifetimeEntry& entry) {
  check(!entry.run.empty(), "a run with a name");
  const auto before = find(entries_, entry.run);
  if (before != entries_.end() && before->data != entry.data) {
    throw PrivacyError("run " + entry.run + " is entered in the ledger for the data '" +
                       before->data + "', not '" + entry.data + "'");
  }
  if (before != entries_.end() && before->released &&
      entry.ledger.steps() < before->ledger.steps()) {
    throw PrivacyError("run " + entry.run + " was released after " +
                       std::to_string(before->ledger.steps()) +
                       " steps and cannot count for fewer");
  }
  for (const Ledger& ledger : with(entry)) {
    const double cost = cost_of(ledger, terms_.budget);
    if (cost <= terms_.budget.epsilon) continue;
    std::ostringstream message;
    message << "the ledger of this data allows epsilon " << terms_.budget.epsilon << " at delta "
            << terms_.budget.delta << ", of which " << epsilon()
            << " is spent or reserved; with this run it would be " << cost;
    throw PrivacyError(message.str());
  }
  if (before != entries_.end()) {
    *before = entry;
  } else {
    entries_.push_back(entry);
  }
}

void Lifetime::withdraw(std::string_view run) {
  const auto found = find(entries_, run);
  if (found == entries_.end()) {
    throw UserError("run is '" + std::string(run) + "'; the ledger has no such run");
  }
  if (found->released) {
    throw PrivacyError("run " + std::string(run) +
                       " has released a model: what that cost stays spent");
  }
  entries_.erase(found);
}

Json json_of(const Lifetime& lifetime) {
  const LifetimeTerms& terms = lifetime.terms();
  Json runs = Json::array();
  for (const LifetimeEntry& entry : lifetime.entries()) {
    runs.push_back({{"run", entry.run},
                    {"data", entry.data},
                    {"state", entry.released ? "released" : "reserved"},
                    {"ledger", json_of(entry.ledger)}});
  }
  return {{"format", kFormat},
          {"version", kVersion},
          {"unit", terms.unit},
          {"epsilon", terms.budget.epsilon},
          {"delta", terms.budget.delta},
          {"disjoint_data", terms.disjoint_data},
          {"runs", runs}};
}

// A budget that somebody lowered by hand below what is spent is read, and refuses further runs.
Lifetime lifetime_from(const Json& json) {
  try {
    if (json.at("format") != kFormat) throw IoError("it is no ledger of a lifetime");
    if (natural<int>(json.at("version")) != kVersion) {
      throw IoError("a later version of lazydp wrote it");
    }
    Lifetime lifetime({.budget = {json.at("epsilon").get<double>(), json.at("delta").get<double>()},
                       .unit = json.at("unit").get<std::string>(),
                       .disjoint_data = json.at("disjoint_data").get<bool>()});
    for (const Json& run : json.at("runs")) {
      const auto state = run.at("state").get<std::string>();
      if (state != "released" && state != "reserved")
        throw IoError("it has a run that is " + state);
      LifetimeEntry entry = {.run = run.at("run").get<std::string>(),
                             .data = run.at("data").get<std::string>(),
                             .released = state == "released",
                             .ledger = ledger_from(run.at("ledger"))};
      if (entry.run.empty() || find(lifetime.entries_, entry.run) != lifetime.entries_.end()) {
        throw IoError("it has two runs '" + entry.run + "'");
      }
      lifetime.entries_.push_back(std::move(entry));
    }
    return lifetime;
  } catch (const Json::exception& error) {
    throw IoError(std::string("it is damaged: ") + error.what());
  }
}

namespace {

void write(const std::string& path, const Lifetime& lifetime) {
  write_text(path, json_of(lifetime).dump(1) + "\n", kReadableFile);
}

}  // namespace

void LifetimeFile::create(const std::string& path, const LifetimeTerms& terms) {
  const Lifetime lifetime(terms);
  const FileLock lock(path);
  if (std::filesystem::exists(path)) {
    throw UserError(path + " exists; a ledger that counts what was spent is not replaced");
  }
  write(path, lifetime);
}

Lifetime LifetimeFile::read() const {
  const std::string text = read_text(path_, "the ledger ");
  try {
    return lifetime_from(Json::parse(text));
  } catch (const Json::exception& error) {
    throw IoError("cannot read the ledger " + path_ + ": it is damaged: " + error.what());
  } catch (const IoError& error) {
    throw IoError("cannot read the ledger " + path_ + ": " + error.what());
  }
}

void LifetimeFile::enter(const LifetimeEntry& entry) const {
  const FileLock lock(path_);
  Lifetime lifetime = read();
  lifetime.enter(entry);
  write(path_, lifetime);
}

void LifetimeFile::withdraw(std::string_view run) const {
  const FileLock lock(path_);
  Lifetime lifetime = read();
  lifetime.withdraw(run);
  write(path_, lifetime);
}

double noise_within(const Lifetime& lifetime, const LifetimeEntry& run,
                    const std::function<Ledger(double)>& planned) {
  const auto ledgers_at = [&](double noise) {
    LifetimeEntry entry = run;
    entry.ledger = planned(noise);
    return lifetime.with(entry);
  };
  const Budget& budget = lifetime.terms().budget;
  double most = 0.0;
  for (std::size_t i = 0; i < ledgers_at(1.0).size(); ++i) {
    const auto noise = find_noise_for_budget(
        budget, [&](double sigma) { return ledgers_at(sigma)[i]; }, Accountant::pld);
    if (!noise) {
      std::ostringstream message;
      message << "the ledger of this data allows epsilon " << budget.epsilon << " at delta "
              << budget.delta << ", of which " << lifetime.epsilon()
              << " is spent or reserved: no noise is enough for this run";
      throw PrivacyError(message.str());
    }
    most = std::max(most, *noise);
  }
  return most;
}

}  // namespace lazydp
