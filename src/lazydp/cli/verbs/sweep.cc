// lazydp sweep: trains every point of a grid, and writes the results to one CSV.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/io/atomic_file.h"
#include "lazydp/base/text/number_text.h"
#include "lazydp/base/text/toml.h"
#include "lazydp/cli/flags.h"
#include "lazydp/cli/options/privacy_limits.h"
#include "lazydp/cli/output.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/cli/run/run.h"
#include "lazydp/cli/search/grid.h"
#include "lazydp/cli/verbs/verbs.h"
#include "lazydp/report/csv.h"
#include "lazydp/train/model_and_tables.h"

namespace lazydp::cli {

namespace {

struct Column {
  std::string_view name;
  std::string (*text)(const RunOptions& options, const RunResult& result);
};

std::string number_or_nothing(double value) {
  return std::isfinite(value) ? exact_text(value) : "";
}

// The columns of a run in the table. Settings have the dashes of their flags, results have none.
constexpr Column kResults[] = {
    {"auc",
     [](const RunOptions&, const RunResult& r) { return number_or_nothing(r.held_out.auc); }},
    {"logloss",
     [](const RunOptions&, const RunResult& r) { return number_or_nothing(r.held_out.logloss); }},
    {"loss", [](const RunOptions&, const RunResult& r) { return number_or_nothing(r.loss); }},
    {"epsilon",
     [](const RunOptions&, const RunResult& r) {
       return r.claim.holds ? exact_text(r.claim.epsilon) : "";
     }},
    {"delta", [](const RunOptions&,
                 const RunResult& r) { return r.claim.holds ? exact_text(r.claim.delta) : ""; }},
    {"claim",
     [](const RunOptions&, const RunResult& r) {
       return r.claim.holds ? std::string("yes") : "none: " + r.claim.because;
     }},
    {"noise_multiplier",
     [](const RunOptions& o, const RunResult&) {
       return exact_text(o.plan.mechanism.noise_multiplier);
     }},
    {"batch", [](const RunOptions& o, const RunResult&) { return std::to_string(o.batch); }},
    {"steps", [](const RunOptions&, const RunResult& r) { return std::to_string(r.steps); }},
    {"step_ms", [](const RunOptions&,
                   const RunResult& r) { return number_or_nothing(median(r.times.step_ms())); }},
    {"seconds", [](const RunOptions&, const RunResult& r) { return fixed(r.seconds, 3); }},
};

std::size_t place(const CsvTable& table, std::string_view column) {
  return static_cast<std::size_t>(std::ranges::find(table.header, column) - table.header.begin());
}

// Returns whether some row claims an epsilon.
bool claims(const CsvTable& table) {
  const std::size_t at = place(table, "claim");
  return std::ranges::any_of(
      table.rows, [at](const std::vector<std::string>& row) { return row[at] == "yes"; });
}

std::vector<std::string> header_of(const Grid& grid) {
  std::vector<std::string> header;
  for (const Flag* flag : grid.flags) header.emplace_back(flag->name);
  header.emplace_back("run");
  for (const Column& column : kResults) header.emplace_back(column.name);
  return header;
}

std::string outcome_in_words(const RunResult& result) {
  return (std::isnan(result.held_out.auc) ? "loss " + fixed(result.loss, 4)
                                          : "AUC " + fixed(result.held_out.auc, 4)) +
         (result.claim.holds ? ", epsilon " + fixed_up(result.claim.epsilon, 2) : "") + ", " +
         human_duration(result.seconds);
}

// Returns the table as earlier sessions left it. Does not touch a table of another grid.
CsvTable open_table(const std::string& path, const std::vector<std::string>& header) {
  if (!std::filesystem::exists(path)) return {.header = header, .rows = {}};
  CsvTable table = CsvTable::parse(read_text(path, "the table "), path);
  if (table.header == header) return table;
  throw UserError(path +
                  " is there, and its columns are not those of this grid; name another file, or "
                  "remove it");
}

bool is_there(const CsvTable& table, const std::vector<std::string>& settings) {
  return std::ranges::any_of(table.rows, [&](const std::vector<std::string>& row) {
    return std::equal(settings.begin(), settings.end(), row.begin());
  });
}

std::string in_words(const std::vector<std::string>& header,
                     const std::vector<std::string>& settings) {
  std::string text;
  for (std::size_t i = 0; i < settings.size(); ++i) text += " " + header[i] + " " + settings[i];
  return text;
}

// The rows of one point: its settings, and the mean over its runs.
struct PointMean {
  std::vector<std::string> settings;
  double sum = 0.0;
  double runs = 0.0;

  double value() const { return sum / runs; }
};

// Returns the point whose runs do best on average, by AUC, or by the loss they trained to where
// nothing was held out; none if a table has neither.
std::optional<std::pair<std::string, PointMean>> best_point(const CsvTable& table,
                                                            std::size_t flags) {
  for (const auto& [name, sign] : {std::pair("auc", 1.0), {"loss", -1.0}}) {
    std::vector<PointMean> points;
    for (const auto& row : table.rows) {
      const auto value = number(row[place(table, name)]);
      if (!value) continue;
      const std::vector<std::string> settings(row.begin(),
                                              row.begin() + static_cast<std::ptrdiff_t>(flags));
      auto point = std::ranges::find(points, settings, &PointMean::settings);
      if (point == points.end()) point = points.insert(points.end(), PointMean{settings});
      point->sum += *value;
      point->runs += 1.0;
    }
    if (points.empty()) continue;
    return std::pair(std::string(name),
                     *std::ranges::max_element(points, {}, [sign](const PointMean& point) {
                       return sign * point.value();
                     }));
  }
  return std::nullopt;
}

// Returns the settings in words, without those that all rows have.
std::string what_varies(const CsvTable& table, const std::vector<std::string>& settings) {
  std::string text;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const bool varies = std::ranges::any_of(
        table.rows, [&](const std::vector<std::string>& row) { return row[i] != settings[i]; });
    if (varies) text += " " + table.header[i] + " " + settings[i];
  }
  return text;
}

void print(std::ostream& out, const std::string& path, const CsvTable& table, std::size_t flags,
           std::size_t done) {
  out << path << ": " << table.rows.size() << " rows, " << done << " of them new\n";
  if (table.rows.size() < 2) return;
  if (const auto best = best_point(table, flags)) {
    const auto& [name, point] = *best;
    out << "Best: " << name << " " << fixed(point.value(), 4)
        << (point.runs > 1.0 ? ", the mean of " + shortest(point.runs) + " runs" : "") << ", with"
        << what_varies(table, point.settings) << "\n";
  }
  if (!claims(table)) return;
  out << "Careful: to choose among these rows by hand is a use of the data that none of their "
         "epsilons pays for; lazydp tune chooses, and pays.\n";
}

struct Run {
  const GridPoint* point;
  std::vector<std::string> settings;  // the values, and the number of this run of the point
};

std::vector<Run> runs_of(const Grid& grid, std::uint64_t of_each) {
  std::vector<Run> runs;
  for (std::uint64_t run = 1; run <= of_each; ++run) {
    for (const GridPoint& point : grid.points) {
      runs.push_back({&point, point.values});
      runs.back().settings.push_back(std::to_string(run));
    }
  }
  return runs;
}

}  // namespace

void sweep(const FlagTexts& given) {
  choose_threads(given);
  constexpr std::uint64_t kMostRuns = 10'000;
  const std::uint64_t of_each = given.runs ? whole_number("runs", *given.runs, 1, kMostRuns) : 1;
  const Grid grid = read_grid(given.operands.front());
  const std::string& path = given.operands.back();
  const OutputFile file(path);
  CsvTable table = open_table(path, header_of(grid));
  // A point that cannot be trained is reported now, not after a night.
  double largest = 0.0;
  for (const GridPoint& point : grid.points) {
    const RunOptions options = choose_run(point.given);
    require_memory_for(options);
    if (options.plan.budget) largest = std::max(largest, options.plan.budget->epsilon);
  }
  warn_of_large_epsilon(largest);

  const Output output(given);
  Progress progress = output.progress();
  const std::vector<Run> runs = runs_of(grid, of_each);
  std::size_t done = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Run& run = runs[i];
    if (is_there(table, run.settings)) continue;
    const std::string which = "run " + std::to_string(i + 1) + " of " +
                              std::to_string(runs.size()) + ":" +
                              in_words(table.header, run.point->values);
    const RunOptions options = choose_run(run.point->given);
    const TrainingData task = load_data(options.task, options.model.shape);
    Progress of_run = progress.of_part(which);
    const RunResult result = train_run(options, task, of_run);
    progress.say(which + ": " + outcome_in_words(result));
    if (result.claim.holds && !options.plan.budget) warn_of_large_epsilon(result.claim.epsilon);
    std::vector<std::string> row = run.settings;
    for (const Column& column : kResults) row.push_back(column.text(options, result));
    table.rows.push_back(std::move(row));
    file.write(table.text());
    ++done;
  }
  if (std::ostream* out = output.report()) print(*out, path, table, grid.flags.size(), done);
}

}  // namespace lazydp::cli
