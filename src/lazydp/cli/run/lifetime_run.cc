#include "lazydp/cli/run/lifetime_run.h"

#include <filesystem>
#include <random>
#include <sstream>

#include "lazydp/base/error.h"
#include "lazydp/base/io/atomic_file.h"
#include "lazydp/cli/run/ranks.h"
#include "lazydp/train/claim.h"

namespace lazydp::cli {

namespace {

// Returns the name by which the run is entered, made when it is first asked for.
std::string name_of_run(const RunDirectory& directory) {
  const std::string path = directory.path() + "/ledger-run";
  if (std::filesystem::exists(path)) return read_text(path);
  std::random_device random;
  std::ostringstream name;
  for (int word = 0; word < 4; ++word) {
    name << std::hex;
    name.width(8);
    name.fill('0');
    name << random();
  }
  write_text(path, name.str(), kOwnerFile);
  return name.str();
}

}  // namespace

FlagTexts with_ledger_in_full(FlagTexts given) {
  const auto needs_ledger = [&given](const Text& text, const char* name) {
    if (!text || given.ledger) return;
    throw UserError(std::string(name) + " is '" + *text + "', but there is no --ledger");
  };
  needs_ledger(given.ledger_data, "ledger-data");
  needs_ledger(given.ledger_runs, "ledger-runs");
  if (!given.ledger) return given;
  if (!given.out) {
    throw UserError("ledger is '" + *given.ledger +
                    "', but there is no --out folder: only a run that is kept can be counted");
  }
  given.ledger = std::filesystem::absolute(*given.ledger).lexically_normal().string();
  return given;
}

std::optional<LifetimeRun> LifetimeRun::of(const FlagTexts& given, const RunDirectory& directory) {
  if (!given.ledger || ranks().rank() != 0) return std::nullopt;
  return LifetimeRun(*given.ledger, name_of_run(directory), given.ledger_data.value_or(""),
                     given.privacy_unit.value_or(kSingleExample));
}

void LifetimeRun::reserve(const Trainer& trainer) const {
  const std::string unit = file_.read().terms().unit;
  if (unit != unit_) {
    throw PrivacyError("the ledger " + file_.path() + " counts what is spent on one " + unit +
                       ", and the run's privacy unit is '" + unit_ + "'");
  }
  const std::string why = no_claim(trainer);
  if (!why.empty()) {
    throw PrivacyError("the ledger " + file_.path() +
                       " cannot count this run, for which nothing can be claimed: " + why);
  }
  file_.reserve(run_, data_, trainer.planned_ledger());
}

void LifetimeRun::publish(const Ledger& spent) const {
  file_.publish(run_, data_, spent);
}

}  // namespace lazydp::cli
