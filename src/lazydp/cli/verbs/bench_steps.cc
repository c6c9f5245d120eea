// lazydp bench steps: times a step of each algorithm, interleaved in one process.

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <optional>
#include <ostream>
#include <vector>

#include "lazydp/base/parallel.h"
#include "lazydp/base/text/number_text.h"
#include "lazydp/bench/interleaved_steps.h"
#include "lazydp/bench/step_times.h"
#include "lazydp/cli/options/run_options.h"
#include "lazydp/cli/output.h"
#include "lazydp/cli/run/report.h"
#include "lazydp/cli/verbs/verbs.h"
#include "lazydp/kernels/noise.h"
#include "lazydp/model/gemm.h"
#include "lazydp/train/correlation_text.h"
#include "lazydp/train/defaults.h"
#include "lazydp/train/memory_needs.h"
#include "lazydp/train/model_and_tables.h"

namespace lazydp::cli {

namespace {

// Returns the normals a second that an algorithm that noises every row draws and adds. None for the
// other algorithms.
std::optional<double> noise_speed(const BenchOptions& options, const Measured& contender) {
  if (!contender.recipe().writes_every_row()) return std::nullopt;
  const double elements = static_cast<double>(options.model.shape.table_bytes()) / sizeof(float);
  return elements / (contender.times.noise_ms() * 1e-3);
}

// Returns the mean lateness, which is equal for all algorithms with late rows: it follows from
// where look-ups go. NaN if there are none.
double lateness_of(const std::vector<Measured>& measured) {
  const auto waits = [](const Measured& m) { return !std::isnan(m.lateness); };
  const auto first = std::ranges::find_if(measured, waits);
  return first == measured.end() ? std::numeric_limits<double>::quiet_NaN() : first->lateness;
}

StageTimes stages_without_data(const BenchOptions& options, const Measured& m) {
  StageTimes stages = m.times.stages_ms(m.recipe(), options.performance.passes);
  std::erase_if(stages, [](const auto& stage) {
    return stage.first == kStageNames[static_cast<std::size_t>(Stage::data)];
  });
  return stages;
}

void print_times(std::ostream& out, const BenchOptions& options,
                 const std::vector<Measured>& measured) {
  std::size_t longest = 14;
  for (const Measured& m : measured) longest = std::max(longest, m.name().size());
  const int name_width = static_cast<int>(longest) + 2;
  constexpr int kNumber = 10;
  const auto cell = [&](const std::string& text) {
    out << std::right << std::setw(kNumber) << text;
  };
  out << std::left << std::setw(name_width) << "ms a step";
  for (const char* head : {"median", "min", "p10", "p90", "data", "lateness", "noise/s"})
    cell(head);
  out << "\n";
  for (const Measured& m : measured) {
    const auto& ms = m.times.compute_ms();
    const std::optional<double> speed = noise_speed(options, m);
    out << std::left << std::setw(name_width) << m.name();
    for (const double p : {0.5, 0.0, 0.1, 0.9}) cell(fixed(quantile(ms, p), 2));
    cell(fixed(m.times.stage_ms(Stage::data), 2));
    cell(fixed(m.lateness, 1));
    cell(speed ? fixed(*speed * 1e-9, 2) + " G" : "-");
    out << "\n";
  }
}

void print_ratios(std::ostream& out, const std::vector<Measured>& measured) {
  for (const Measured& of : measured) {
    for (const Measured& to : measured) {
      const Ratio r = ratio(of.times.compute_ms(), to.times.compute_ms());
      const bool slower = r.median > 1.0 || (r.median == 1.0 && &of < &to);
      if (&of == &to || !slower) continue;
      out << "  " << of.name() << " / " << to.name() << " = " << fixed(r.median, 3)
          << "  (95 %: " << fixed(r.low, 3) << " to " << fixed(r.high, 3) << ")\n";
    }
  }
}

void print_bench(std::ostream& out, const BenchOptions& options,
                 const std::vector<Measured>& measured) {
  const ModelShape& shape = options.model.shape;
  out << "\n"
      << shape.name << ", tables " << human_bytes(static_cast<double>(shape.table_bytes()))
      << (options.table_folder ? " in files" : "") << ", synthetic " << options.task.name
      << ", pooling " << shape.pooling << ", batch "
      << with_commas(static_cast<double>(options.batch)) << ", " << thread_count()
      << (thread_count() == 1 ? " thread, " : " threads, ") << options.rounds
      << (options.rounds == 1 ? " round, settle " : " rounds, settle ")
      << settle_name(options.performance) << ", " << stages_name(options.performance)
      << " kernels, noise by " << best_noise_path().name << ", products by " << sgemm_library()
      << "\n\n";
  print_times(out, options, measured);
  out << "\n  data: drawing the batch, not part of a step here. lateness: steps that the rows of a "
         "batch\n  have waited for their noise, on average. noise/s: normals a second, where every "
         "row\n  gets noise at every step.\n\n";
  print_ratios(out, measured);
}

// Step times leave out drawing the batch, which is reported as data_ms; `ratios` has both
// directions of every pair.
Json json_of(const BenchOptions& options, const std::vector<Measured>& measured) {
  const ModelShape& shape = options.model.shape;
  Json json = {{"model", shape.name},
               {"scale", options.model.scale},
               {"synthetic", options.task.name},
               {"pooling", shape.pooling},
               {"batch", options.batch},
               {"threads", thread_count()},
               {"rounds", options.rounds},
               {"settle", settle_name(options.performance)},
               {"stages", stages_name(options.performance)},
               {"noise_by", best_noise_path().name},
               {"products_by", sgemm_library()},
               {"table_bytes", shape.table_bytes()},
               {"tables_in", options.table_folder ? "files" : "memory"},
               {"lateness", lateness_of(measured)},
               {"results", Json::array()},
               {"ratios", Json::array()}};
  for (const Measured& m : measured) {
    const auto& ms = m.times.compute_ms();
    const std::optional<double> speed = noise_speed(options, m);
    json["results"].push_back({{"algorithm", m.recipe().name},
                               {"examples_per_unit", m.entry.examples_per_unit},
                               {"correlation", text_of(m.entry.correlation)},
                               {"step_ms",
                                {{"median", median(ms)},
                                 {"min", quantile(ms, 0.0)},
                                 {"p10", quantile(ms, 0.1)},
                                 {"p90", quantile(ms, 0.9)}}},
                               {"stages_ms", cli::json_of(stages_without_data(options, m))},
                               {"data_ms", m.times.stage_ms(Stage::data)},
                               {"wall_ms", m.spent.wall_seconds * 1e3 / m.times.steps()},
                               {"rows_read", m.times.rows_read()},
                               {"rows_written", m.times.rows_written()},
                               {"history_bytes", m.history_bytes},
                               {"lateness", m.lateness},
                               {"noise_elements_per_second", speed ? Json(*speed) : Json()}});
  }
  for (const Measured& of : measured) {
    for (const Measured& to : measured) {
      if (&of == &to) continue;
      const Ratio r = ratio(of.times.compute_ms(), to.times.compute_ms());
      json["ratios"].push_back({{"of", of.name()},
                                {"to", to.name()},
                                {"median", r.median},
                                {"low", r.low},
                                {"high", r.high}});
    }
  }
  return json;
}

constexpr Step kMaxRounds = 100'000;

// Returns the algorithms that the user names; by default those with a single backward pass that
// support the tables' storage.
std::vector<Recipe> choose_contenders(const FlagTexts& given, bool in_files) {
  std::vector<Recipe> contenders;
  if (!given.algorithms) {
    std::ranges::copy_if(kRecipes, std::back_inserter(contenders), [&](const Recipe& recipe) {
      return (recipe.clip == ClipMethod::none || recipe.clip == ClipMethod::ghost) &&
             !(in_files && recipe.writes_every_row());
    });
    return contenders;
  }
  for (const std::string& name : parts_of(*given.algorithms, ",")) {
    if (std::ranges::find(contenders, name, &Recipe::name) != contenders.end()) {
      refuse("algorithms", *given.algorithms, "a list in which no name occurs twice");
    }
    contenders.push_back(recipe(name));
  }
  return contenders;
}

}  // namespace

BenchOptions choose_bench(const FlagTexts& given) {
  BenchOptions bench;
  bench.table_folder = choose_table_folder(given);
  bench.contenders = choose_contenders(given, bench.table_folder.has_value());
  for (const Recipe& each : bench.contenders) require_trainable_there(each, bench.table_folder);
  bench.normals_per_sample = choose_normals_per_sample(given);
  bench.model = choose_model(given);
  FlagTexts timed = given;
  if (!timed.synthetic) timed.synthetic = "uniform";
  bench.task = choose_source(timed, bench.model);
  if (bench.task.learnable()) {
    refuse("synthetic", bench.task.name, "uniform, zipf:S or skew:36|10|0.6 where steps are timed");
  }
  bench.performance = choose_performance(given);
  bench.batch = given.batch ? whole_number("batch", *given.batch, 1, bench.task.examples())
                            : defaults_for(AccessLaw{}, kRecipes.back()).batch;
  if (given.examples_per_unit) {
    bench.examples_per_unit =
        whole_number("examples-per-unit", *given.examples_per_unit, 2, bench.batch);
  }
  constexpr Participation kAnyRun = {.steps = 1000, .separation = 1000, .times = 1};
  if (given.correlation) bench.correlation = parse_correlation(*given.correlation, kAnyRun);
  bench.rounds =
      static_cast<Step>(whole_number("rounds", given.rounds.value_or("31"), 1, kMaxRounds));
  bench.seed = choose_seed(given);
  require_memory(memory_needs(bench), available_memory());
  return bench;
}

void bench_steps(const FlagTexts& given) {
  choose_threads(given);
  const BenchOptions options = choose_bench(given);
  const Output output(given);

  Progress progress = output.progress();
  const TrainingData task = load_data(options.task, options.model.shape);
  const std::vector<Measured> measured = interleave(options, task, progress);

  if (std::ostream* out = output.report()) print_bench(*out, options, measured);
  output.write(json_of(options, measured));
}

}  // namespace lazydp::cli
