#include "lazydp/cli/search/search_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/base/text/number_text.h"
#include "lazydp/base/text/toml.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/cli/run/run.h"
#include "lazydp/cli/run/run_directory.h"
#include "lazydp/cli/search/grid.h"
#include "lazydp/privacy/ledger_json.h"
#include "lazydp/privacy/rdp.h"
#include "lazydp/train/claim.h"

namespace lazydp::cli {
namespace {

using Named = std::pair<Text FlagTexts::*, const char*>;

// Flags of the command line that hold for every candidate.
constexpr std::array kForAll = {
    Named{&FlagTexts::data, "data"},         Named{&FlagTexts::synthetic, "synthetic"},
    Named{&FlagTexts::test, "test"},         Named{&FlagTexts::validation, "validation"},
    Named{&FlagTexts::split_by, "split-by"}, Named{&FlagTexts::privacy_unit, "privacy-unit"}};
// Flags that belong to the whole search.
constexpr std::array kOfTheSearch = {
    Named{&FlagTexts::noise_multiplier, "noise-multiplier"}, Named{&FlagTexts::epsilon, "epsilon"},
    Named{&FlagTexts::delta, "delta"}, Named{&FlagTexts::force, "force"},
    Named{&FlagTexts::accountant, "accountant"}};

void refuse_flags_of_the_search(const Grid& grid, const std::string& path) {
  for (const auto& [value, name] : kOfTheSearch) {
    if (!(grid.points.front().given.*value)) continue;
    throw UserError("grid is '" + path + "', which sets " + name +
                    "; a search has one budget, and chooses the noise of every candidate itself");
  }
}

// Returns the flags of a candidate's training, under a noise multiplier.
FlagTexts flags_of(const GridPoint& point, const FlagTexts& given, const std::string& path,
                   double noise_multiplier) {
  FlagTexts flags = point.given;
  for (const auto& [value, name] : kForAll) {
    if (!(given.*value)) continue;
    if (flags.*value) {
      throw UserError("grid is '" + path + "', which sets " + name +
                      ", as the command line does; all candidates have the same data");
    }
    flags.*value = given.*value;
  }
  flags.delta = given.delta;
  flags.force = given.force;
  flags.accountant = "rdp";
  constexpr const char* kUsualShare = "0.1";
  if (flags.data && !flags.validation) flags.validation = kUsualShare;
  flags.noise_multiplier = exact_text(noise_multiplier);
  return flags;
}

std::string in_words(const Grid& grid, const GridPoint& point) {
  std::string text;
  for (std::size_t i = 0; i < grid.flags.size(); ++i) {
    text += " " + std::string(grid.flags[i]->name) + " " + point.values[i];
  }
  return text;
}

[[noreturn]] void refuse_candidate(const std::string& words, std::string_view why) {
  throw PrivacyError("nothing can be claimed for the candidate" + words + ": " + std::string(why));
}

// Returns a candidate's run. Throws PrivacyError for one whose training has no epsilon.
RunOptions choose_candidate(const FlagTexts& flags, const std::string& words) {
  const Recipe& chosen = recipe(flags.algorithm.value_or(std::string(kRecipes.back().name)));
  if (!chosen.no_claim.empty()) refuse_candidate(words, chosen.no_claim);
  RunOptions options = choose_run(flags);
  const std::string why = no_claim(options.plan, !options.seed, options.sampling);
  if (!why.empty()) refuse_candidate(words, why);
  if (!spent_before(options.plan).empty()) {
    refuse_candidate(words,
                     "its initial model has spent some epsilon, which the search does not count; "
                     "release the best of a search without it, or begin with a public model");
  }
  return options;
}

std::uint64_t units_to_score(const RunOptions& options, const FlagTexts& flags) {
  if (!options.task.learnable()) {
    throw UserError(options.task.in_words() +
                    " has nothing to learn, so no candidate is better; use data, or click");
  }
  if (!options.task.file) {
    return ClickShape::of(std::get<ClickSize>(options.task.what)).held_out;
  }
  if (!number(*flags.validation) || *number(*flags.validation) <= 0.0) {
    refuse("validation", *flags.validation,
           "a share of the data above 0: candidates are scored on examples that none is trained "
           "on, which the claim covers too");
  }
  const TrainingFile& file = *options.task.file;
  const auto units = validation_units(file, flags);
  const std::uint64_t scored = units ? units->size() : file.validation->size();
  if (scored == 0) {
    refuse("validation", *flags.validation, "large enough to hold out an example to score on");
  }
  return scored;
}

Ledger ledger_of(Plan plan, double noise_multiplier) {
  plan.mechanism.noise_multiplier = noise_multiplier;
  return ledger_through(plan, {}, plan.steps);
}

// Candidates whose trainings cost the same under the same noise.
struct Kind {
  Plan plan;
  double noise_multiplier = 0.0;
};

// Chooses every kind's noise for `each`, the budget of one training. Returns false if there is none
// or the search then costs more than `all`.
bool fits(double each, const Budget& all, std::map<std::string, Kind>& kinds,
          PrivateSearch& search) {
  search.training.clear();
  for (auto& named : kinds) {
    Kind& kind = named.second;
    const auto noise = find_noise_for_budget(
        {each, all.delta}, [&](double sigma) { return ledger_of(kind.plan, sigma); },
        Accountant::rdp);
    if (!noise) return false;
    kind.noise_multiplier = *noise;
    raise_to(rdp_curve(ledger_of(kind.plan, *noise)), search.training);
  }
  return search_epsilon(search, all.delta) <= all.epsilon;
}

[[noreturn]] void refuse_budget(const Budget& budget, const TrialsLaw& law) {
  throw UserError("epsilon is " + shortest(budget.epsilon) + " at delta " + shortest(budget.delta) +
                  ", which pays for no search with " + shortest(mean_trials(law)) +
                  " trials expected; raise epsilon, or lower trials-mean");
}

// Finds the largest budget of a training, to a thousandth, with which the search stays within its
// own, and leaves that in `kinds` and `search`.
double calibrate(const Budget& all, std::map<std::string, Kind>& kinds, PrivateSearch& search) {
  constexpr double kPrecision = 1e-3;
  constexpr double kStep = 1.5;
  constexpr int kMostSteps = 20;  // down to a 3000th of the whole
  search.training.assign(rdp_orders().size(), 0.0);
  if (search_epsilon(search, all.delta) > all.epsilon) refuse_budget(all, search.trials);
  double within = all.epsilon;
  for (int i = 0; !fits(within, all, kinds, search); ++i, within /= kStep) {
    if (i == kMostSteps) refuse_budget(all, search.trials);
  }
  double beyond = within * kStep;
  while (beyond > within * (1 + kPrecision)) {
    const double middle = std::sqrt(within * beyond);
    (fits(middle, all, kinds, search) ? within : beyond) = middle;
  }
  check(fits(within, all, kinds, search), "the search stays within its budget");
  return within;
}

// Returns the score's noise: given, or such that the score alone would cost a tenth of the budget.
double choose_score_noise(const FlagTexts& given, const Budget& budget, const TrialsLaw& law) {
  if (given.score_noise) return positive("score-noise", *given.score_noise);
  constexpr double kShare = 0.1;
  const auto one = [](double sigma) {
    Ledger ledger;
    ledger.record(Gaussian{sigma, 1});
    return ledger;
  };
  const auto noise =
      find_noise_for_budget({kShare * budget.epsilon, budget.delta}, one, Accountant::rdp);
  if (!noise) refuse_budget(budget, law);
  return *noise;
}

TrialsLaw choose_trials(const FlagTexts& given) {
  constexpr double kUsualMean = 10.0;
  const auto eta = number(given.trials_eta.value_or("0"));
  if (!eta) refuse("trials-eta", *given.trials_eta, "from -0.5 to 1, for example 0");
  return trials_with_mean(
      given.trials_mean ? positive("trials-mean", *given.trials_mean) : kUsualMean, *eta);
}

const std::string& needed(const Text& text, const char* name, const char* what) {
  if (text) return *text;
  throw UserError(std::string("tune needs --") + name + ": " + what);
}

}  // namespace

std::shared_ptr<const PrivacyUnits> validation_units(const TrainingFile& file,
                                                     const FlagTexts& flags) {
  const auto* part = dynamic_cast<const Part*>(file.validation.get());
  if (!file.units || part == nullptr) return nullptr;
  const std::vector<const Column*> keys = part->file().schema().keys();
  const auto key = std::ranges::find(keys, *flags.privacy_unit, &Column::name);
  check(key != keys.end(), "the privacy unit is a key column");
  return std::make_shared<const PrivacyUnits>(
      PrivacyUnits::of(*part, static_cast<std::size_t>(key - keys.begin())));
}

SearchPlan plan_search(const FlagTexts& given) {
  const std::string& path = needed(given.grid, "grid", "a TOML file of what to try");
  SearchPlan plan{};
  plan.budget.epsilon =
      positive("epsilon", needed(given.epsilon, "epsilon", "the budget of the whole search"));
  plan.search.trials = choose_trials(given);
  plan.score.bound = given.score_bound ? positive("score-bound", *given.score_bound) : 4.0;
  const Grid grid = read_grid(path);
  refuse_flags_of_the_search(grid, path);

  std::map<std::string, Kind> kinds;
  std::vector<std::string> kind_of;
  Json data;
  for (const GridPoint& point : grid.points) {
    const FlagTexts flags = flags_of(point, given, path, 1.0);
    const RunOptions options = choose_candidate(flags, in_words(grid, point));
    if (kind_of.empty()) {
      plan.scored = units_to_score(options, flags);
      plan.unit = options.task.file && options.task.file->units ? "units" : "examples";
      plan.budget.delta = options.delta;
      data = identity_of(options.task);
    } else if (identity_of(options.task) != data) {
      throw UserError("grid is '" + path +
                      "', whose candidates differ in their data or its split; all have the same");
    }
    kind_of.push_back(json_of(ledger_of(options.plan, 1.0)).dump());
    kinds.try_emplace(kind_of.back(), Kind{options.plan});
  }
  plan.search.candidates = grid.points.size();
  plan.search.score_noise = choose_score_noise(given, plan.budget, plan.search.trials);
  plan.score.noise_multiplier = plan.search.score_noise;
  plan.candidate_epsilon = calibrate(plan.budget, kinds, plan.search);
  plan.epsilon = search_epsilon(plan.search, plan.budget.delta);

  Json candidates = Json::array();
  for (std::size_t i = 0; i < grid.points.size(); ++i) {
    const double noise = kinds.at(kind_of[i]).noise_multiplier;
    plan.candidates.push_back({.given = flags_of(grid.points[i], given, path, noise),
                               .chosen = in_words(grid, grid.points[i]),
                               .noise_multiplier = noise});
    const RunOptions options = choose_run(plan.candidates.back().given);
    require_memory_for(options);
    candidates.push_back(settings_of(options));
  }
  plan.settings = {
      {"candidates", candidates},          {"eta", plan.search.trials.eta},
      {"gamma", plan.search.trials.gamma}, {"score_noise", plan.score.noise_multiplier},
      {"score_bound", plan.score.bound},   {"scored", plan.scored}};
  return plan;
}

}  // namespace lazydp::cli
