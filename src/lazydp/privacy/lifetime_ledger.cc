#include "lazydp/privacy/lifetime_ledger.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <sstream>

#include "lazydp/base/error.h"
#include "lazydp/base/io/atomic_file.h"
#include "lazydp/base/io/folder.h"
#include "lazydp/privacy/accountant.h"
#include "lazydp/privacy/ledger_json.h"

namespace lazydp {

namespace {

constexpr const char* kFormat = "lazydp-lifetime-ledger";
constexpr int kVersion = 1;

double cost_of(const Ledger& ledger, const Budget& budget) {
  return epsilon(ledger, budget.delta, Accountant::pld);
}

// Returns what examples of the data `name` may have had part in.
Ledger seen_by(const std::string& name, std::span<const LifetimeEntry> entries,
               const LifetimeTerms& terms) {
  Ledger total;
  for (const LifetimeEntry& entry : entries) {
    const bool apart = terms.disjoint_data && !entry.data.empty() && entry.data != name;
    if (!apart) total.append(entry.counted());
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
  if (disjoint_data && unit != kSingleExample) {
    throw UserError("disjoint-data is declared, but one " + unit +
                    " may have examples in the data of many days: it can be declared where single "
                    "examples are protected");
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

// Examples of other disjoint data are not concerned.
void Lifetime::replace(LifetimeEntry entry) {
  const std::string data = entry.data;
  std::vector<LifetimeEntry> entries = entries_;
  const auto before = find(entries, entry.run);
  if (before != entries.end() && before->data != entry.data) {
    throw PrivacyError("run " + entry.run + " is in the ledger with the data '" + before->data +
                       "', not '" + entry.data + "'");
  }
  if (before != entries.end() && entry.counted().steps() < before->published.steps()) {
    throw PrivacyError("run " + entry.run + " has published a model of " +
                       std::to_string(before->published.steps()) +
                       " steps and cannot count for fewer");
  }
  if (before != entries.end()) {
    if (entry.published.empty()) entry.published = before->published;
    *before = std::move(entry);
  } else {
    entries.push_back(std::move(entry));
  }
  for (const std::string& name : names_of(entries, terms_)) {
    if (terms_.disjoint_data && !data.empty() && data != name) continue;
    const double cost = cost_of(seen_by(name, entries, terms_), terms_.budget);
    if (cost <= terms_.budget.epsilon) continue;
    std::ostringstream message;
    message << "the ledger of this data allows epsilon " << terms_.budget.epsilon << " at delta "
            << terms_.budget.delta << ", of which " << epsilon()
            << " is spent or reserved; with this run it would be " << cost;
    throw PrivacyError(message.str());
  }
  entries_ = std::move(entries);
}

void Lifetime::reserve(const std::string& run, const std::string& data, const Ledger& planned) {
  check(!run.empty(), "a run with a name");
  replace({.run = run, .data = data, .reserved = planned});
}

void Lifetime::publish(const std::string& run, const std::string& data, const Ledger& spent) {
  check(!run.empty(), "a run with a name");
  replace({.run = run, .data = data, .published = spent});
}

void Lifetime::withdraw(std::string_view run) {
  const auto found = find(entries_, run);
  if (found == entries_.end()) {
    throw UserError("run is '" + std::string(run) + "'; the ledger has no such run");
  }
  if (found->reserved.empty()) {
    throw PrivacyError("run " + std::string(run) +
                       " has published a model: what that cost stays spent");
  }
  found->reserved = {};
  if (found->published.empty()) entries_.erase(found);
}

Json json_of(const Lifetime& lifetime) {
  const LifetimeTerms& terms = lifetime.terms();
  Json runs = Json::array();
  for (const LifetimeEntry& entry : lifetime.entries()) {
    runs.push_back({{"run", entry.run},
                    {"data", entry.data},
                    {"published", json_of(entry.published)},
                    {"reserved", json_of(entry.reserved)}});
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
      LifetimeEntry entry = {.run = run.at("run").get<std::string>(),
                             .data = run.at("data").get<std::string>(),
                             .published = ledger_from(run.at("published")),
                             .reserved = ledger_from(run.at("reserved"))};
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

template <typename Change>
void LifetimeFile::change(const Change& change) const {
  const FileLock lock(path_);
  Lifetime lifetime = read();
  change(lifetime);
  write(path_, lifetime);
}

void LifetimeFile::reserve(const std::string& run, const std::string& data,
                           const Ledger& planned) const {
  change([&](Lifetime& lifetime) { lifetime.reserve(run, data, planned); });
}

void LifetimeFile::publish(const std::string& run, const std::string& data,
                           const Ledger& spent) const {
  change([&](Lifetime& lifetime) { lifetime.publish(run, data, spent); });
}

void LifetimeFile::withdraw(std::string_view run) const {
  change([&](Lifetime& lifetime) { lifetime.withdraw(run); });
}

double noise_for_runs(const LifetimeTerms& terms, std::uint64_t runs,
                      const std::function<Ledger(double)>& planned) {
  const auto all = [&](double noise) {
    const Ledger one = planned(noise);
    Ledger ledger;
    for (std::uint64_t run = 0; run < runs; ++run) ledger.append(one);
    return ledger;
  };
  return noise_for_budget(terms.budget, all, Accountant::pld);
}

}  // namespace lazydp
