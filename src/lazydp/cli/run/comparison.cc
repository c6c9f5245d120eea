#include "lazydp/cli/run/comparison.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "lazydp/base/text/number_text.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/cli/run/run_curves.h"
#include "lazydp/report/html_page.h"

namespace lazydp::cli {
namespace {

constexpr const char* kNothing = "-";

std::string setting(const RunRecord& run, const std::string& flag) {
  const auto found =
      std::ranges::find(run.settings, flag, &std::pair<std::string, std::string>::first);
  return found == run.settings.end() ? kNothing : found->second;
}

std::string text_of(const Json& numbers, const char* key) {
  const auto value = numbers.find(key);
  if (value == numbers.end() || value->is_null()) return "";
  return value->is_string() ? value->get<std::string>() : value->dump();
}

std::string epsilon_of(const RunRecord& run) {
  const double epsilon = run.number("epsilon");
  return std::isnan(epsilon) ? "no claim" : rounded_up(epsilon, 4);
}

// A number of a run's record, and how it is shown.
struct Result {
  std::string_view label;
  const char* key;
  std::string (*text)(double value);
};

std::string four(double value) {
  return fixed(value, 4);
}

constexpr Result kResults[] = {
    {"AUC", "auc", four},
    {"GAUC", "gauc", four},
    {"NDCG", "ndcg", four},
    {"recall", "recall", four},
    {"log-loss", "logloss", four},
    {"normalised entropy", "normalised_entropy", four},
    {"calibration", "calibration", four},
    {"training loss", "loss", four},
    {"noise multiplier", "noise_multiplier", shortest},
    {"batch", "batch", with_commas},
    {"steps", "steps", with_commas},
    {"time", "seconds", human_duration},
};

}  // namespace

Comparison::Rows Comparison::differences() const {
  std::vector<std::string> flags;
  for (const RunRecord& run : runs) {
    for (const auto& [flag, value] : run.settings) {
      if (std::ranges::find(flags, flag) == flags.end()) flags.push_back(flag);
    }
  }
  Rows rows;
  for (const std::string& flag : flags) {
    std::vector<std::string> row = {flag};
    for (const RunRecord& run : runs) row.push_back(setting(run, flag));
    if (std::ranges::any_of(row.begin() + 2, row.end(),
                            [&row](const std::string& value) { return value != row[1]; })) {
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

Comparison::Rows Comparison::differences_in_words() const {
  constexpr std::size_t kLong = 8;
  Rows rows = differences();
  for (auto& row : rows) {
    for (std::string& value : row) {
      if (const auto exact = number(value); exact && value.size() > kLong) value = shortest(*exact);
    }
  }
  return rows;
}

Comparison::Rows Comparison::results() const {
  Rows rows = {{"epsilon"}, {"delta"}};
  for (const RunRecord& run : runs) {
    rows[0].push_back(epsilon_of(run));
    rows[1].push_back(std::isnan(run.number("epsilon")) ? kNothing : shortest(run.number("delta")));
  }
  for (const Result& result : kResults) {
    std::vector<std::string> row = {std::string(result.label)};
    bool any = false;
    for (const RunRecord& run : runs) {
      const double value = run.number(result.key);
      any = any || !std::isnan(value);
      row.push_back(std::isnan(value) ? kNothing : result.text(value));
    }
    if (any) rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::string> Comparison::warnings() const {
  std::vector<std::string> sentences;
  const auto differ = [this](const char* key) {
    return std::ranges::any_of(runs, [&](const RunRecord& run) {
      return text_of(run.numbers, key) != text_of(runs.front().numbers, key);
    });
  };
  for (const RunRecord& run : runs) {
    if (run.finished) continue;
    sentences.push_back(run.folder +
                        " has not finished (or an earlier version ran it): its numbers are the "
                        "newest of its log");
  }
  const bool alike = std::ranges::all_of(runs, [this](const RunRecord& run) {
    return judged_alike(run.numbers, runs.front().numbers);
  });
  if (sentences.empty() && !alike) {
    sentences.emplace_back("the runs were not judged on the same examples, or not in the same way");
  }
  if (differ("privacy_unit") || differ("delta")) {
    sentences.push_back("the epsilons are not of the same unit and delta: they do not compare");
  }
  const bool claims = std::ranges::any_of(
      runs, [](const RunRecord& run) { return !std::isnan(run.number("epsilon")); });
  if (claims) {
    sentences.push_back(
        "to choose among these runs by hand is a use of the data that none of their epsilons pays "
        "for; lazydp tune chooses, and pays");
  }
  return sentences;
}

std::string Comparison::page() const {
  std::vector<std::string> head = {""};
  std::string names;
  for (const RunRecord& run : runs) {
    head.push_back(run.folder);
    names += (names.empty() ? "" : ", ") + run.folder;
  }
  HtmlPage page(std::to_string(runs.size()) + " runs side by side", names);
  page.warning(
      "Secret: losses, metrics and times on this page are computed from the data and are not "
      "covered by any ε.");
  for (const std::string& warning : warnings()) page.warning("Careful: " + warning + ".");
  const auto table = [&](const char* title, Rows rows) {
    rows.insert(rows.begin(), head);
    page.heading(title).table(rows);
  };
  table("What came of them", results());
  if (Rows rows = differences_in_words(); rows.empty()) {
    page.heading("What differs").paragraph("No setting does.");
  } else {
    table("What differs", std::move(rows));
  }
  page.heading("Curves");
  const auto picture = [&](RunCurves curves, const char* key, bool noisy) {
    for (const RunRecord& run : runs) {
      auto points = points_of(run.log, key);
      curves.curve(run.name(), noisy ? smoothed(points) : std::move(points));
    }
    if (!curves.empty()) page.picture(curves.without_spikes().svg());
  };
  picture(RunCurves({.title = "Held-out AUC", .note = "0.5 is guessing"}, auc_axis("AUC")), "auc",
          false);
  picture(RunCurves({.title = "Held-out log-loss", .note = "smaller is better"}, loss_axis()),
          "logloss", false);
  picture(RunCurves({.title = "Training loss", .note = "log-loss; means over runs of steps"},
                    loss_axis()),
          "loss", true);
  picture(RunCurves({.title = "ε if released then", .note = "what publishing that model spends"},
                    {.name = "ε"}),
          "epsilon", false);
  return page.finish();
}

Json Comparison::json() const {
  Json json = {{"runs", Json::array()}, {"differences", Json::object()}, {"warnings", warnings()}};
  for (const RunRecord& run : runs) {
    Json settings = Json::object();
    for (const auto& [flag, value] : run.settings) settings[flag.substr(2)] = value;
    json["runs"].push_back({{"folder", run.folder},
                            {"finished", run.finished},
                            {"settings", settings},
                            {"numbers", run.numbers}});
  }
  for (const auto& row : differences()) {
    json["differences"][row[0].substr(2)] = std::vector<std::string>(row.begin() + 1, row.end());
  }
  return json;
}

}  // namespace lazydp::cli
