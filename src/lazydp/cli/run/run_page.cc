#include <cmath>

#include "lazydp/base/text/number_text.h"
#include "lazydp/cli/run/report.h"
#include "lazydp/cli/run/training_health.h"
#include "lazydp/report/chart.h"
#include "lazydp/report/html_page.h"

namespace lazydp::cli {
namespace {

// Returns the values of `key` in the log, step by step.
std::vector<ChartPoint> points_of(const std::vector<Json>& log, const char* key) {
  std::vector<ChartPoint> points;
  for (const Json& line : log) {
    const auto value = line.find(key);
    if (value == line.end() || !value->is_number()) continue;
    points.push_back({.x = line.at("step").get<double>(), .y = value->get<double>()});
  }
  return points;
}

// Returns the mean of each of at most a hundred runs of points: single steps are noisy.
std::vector<ChartPoint> smoothed(const std::vector<ChartPoint>& points) {
  constexpr std::size_t kShown = 100;
  const std::size_t each = (points.size() + kShown - 1) / kShown;
  std::vector<ChartPoint> means;
  for (std::size_t i = 0; i < points.size(); i += each) {
    const std::size_t count = std::min(each, points.size() - i);
    ChartPoint mean;
    for (std::size_t j = i; j < i + count; ++j) {
      mean.x += points[j].x / static_cast<double>(count);
      mean.y += points[j].y / static_cast<double>(count);
    }
    means.push_back(mean);
  }
  return means;
}

std::string loss_picture(const std::vector<Json>& log) {
  LineChart chart{.head = {.title = "Loss", .note = "log-loss; training: means over runs of steps"},
                  .x = {.name = "steps"},
                  .y = {.name = "log-loss", .from_zero = false},
                  .lines = {{"training", smoothed(points_of(log, "loss"))}}};
  if (auto held_out = points_of(log, "logloss"); !held_out.empty()) {
    chart.lines.push_back({"held out", std::move(held_out)});
  }
  return svg_of(chart);
}

std::string auc_picture(const std::vector<Json>& log, double bayes) {
  LineChart chart{.head = {.title = "AUC", .note = "on examples that are held out"},
                  .x = {.name = "steps"},
                  .y = {.name = "AUC", .from_zero = false},
                  .lines = {{"held out", points_of(log, "auc")}}};
  if (auto within = points_of(log, "gauc"); !within.empty()) {
    chart.lines.push_back({"held out, within groups", std::move(within)});
  }
  if (std::isfinite(bayes) && !chart.lines[0].points.empty()) {
    const double last = chart.lines[0].points.back().x;
    chart.lines.push_back({"best possible", {{.x = 0, .y = bayes}, {.x = last, .y = bayes}}});
  }
  return svg_of(chart);
}

std::string epsilon_picture(const std::vector<Json>& log, const Claim& claim) {
  return svg_of(LineChart{.head = {.title = "ε if released then, at δ = " + shortest(claim.delta),
                                   .note = "of the data this much is spent by publishing the model "
                                           "of that step"},
                          .x = {.name = "steps"},
                          .y = {.name = "ε"},
                          .lines = {{"ε", points_of(log, "epsilon")}}});
}

std::string stages_picture(const Finished& run) {
  BarChart chart{.head = {.title = "Where a step goes",
                          .note = "ms, means over " + with_commas(run.result.times.steps()) +
                                  " steps of the last session"},
                 .groups = {"a step"},
                 .y = {.name = "ms"},
                 .kind = BarChart::Kind::stacked};
  const Performance& performance = run.options.performance;
  for (const auto& [name, ms] :
       run.result.times.stages_ms(run.options.plan.recipe, performance.passes)) {
    constexpr double kVisible = 0.002;  // share of the step
    if (ms < kVisible * median(run.result.times.step_ms())) continue;
    chart.series.push_back({std::string(name), {{.value = ms}}});
  }
  return svg_of(chart);
}

std::string batch_in_words(const RunOptions& options) {
  const bool units = options.task.file && options.task.file->units;
  switch (options.sampling) {
    case Sampling::poisson: return units ? " units expected" : " examples expected";
    case Sampling::shuffled: return " examples, shuffled";
    case Sampling::stream: return " examples, in the order of the data";
    case Sampling::balls_in_bins: return units ? " units in bins" : " examples in bins";
  }
  throw InternalError("unknown Sampling");
}

std::vector<std::vector<std::string>> numbers_of(const Finished& run) {
  const auto& [options, result] = run;
  const Plan& plan = options.plan;
  std::vector<std::vector<std::string>> rows = {
      {"", ""},
      {"algorithm", std::string(plan.recipe.name)},
      {"data", options.task.in_words() + ", " +
                   with_commas(static_cast<double>(options.task.examples())) +
                   (options.task.file && options.task.file->units ? " units" : " examples")},
      {"steps", with_commas(result.steps) + " of " +
                    with_commas(static_cast<double>(options.batch)) + batch_in_words(options)},
      {"learning rates", shortest(plan.table_rate) + " (tables, " +
                             std::string(table_rule_name(plan.table_rule)) + "), " +
                             shortest(plan.dense_rate) + " (MLPs, " +
                             std::string(dense_rule_name(plan.dense_rule)) + "), schedule " +
                             plan.rate_schedule.text()},
      {"clip norm, noise multiplier",
       shortest(plan.mechanism.clip_norm) + ", " + shortest(plan.mechanism.noise_multiplier)}};
  if (options.task.file && options.task.file->units) {
    rows.push_back({"a sampled unit sends", sent_in_words(plan.examples_per_unit)});
  }
  if (result.held_out.examples > 0) {
    rows.push_back({"held-out AUC", fixed(result.held_out.auc, 4)});
    if (options.task.grouped()) {
      rows.push_back(
          {"held-out GAUC, by " + *options.task.file->group_by, fixed(result.held_out.gauc, 4)});
    }
    rows.push_back({"held-out log-loss", fixed(result.held_out.logloss, 4)});
    rows.push_back({"normalised entropy", fixed(result.held_out.normalised_entropy, 4)});
    rows.push_back({"calibration", fixed(result.held_out.calibration, 4)});
  }
  rows.push_back({"training loss", fixed(result.loss, 4) + " (mean of the last tenth)"});
  rows.push_back({"time", human_duration(result.seconds) + ", " +
                              fixed(median(result.times.step_ms()), 2) + " ms a step (median), " +
                              std::to_string(result.threads) +
                              (result.threads == 1 ? " thread" : " threads")});
  rows.push_back({"memory", human_bytes(static_cast<double>(result.peak_rss_bytes)) + " at most"});
  return rows;
}

}  // namespace

std::string run_page(const Finished& run, const std::vector<Json>& log) {
  const Claim& claim = run.result.claim;
  HtmlPage page("A run of lazydp",
                std::string(run.options.plan.recipe.name) + " on " + run.options.task.in_words());
  page.warning(
      "Secret: losses, metrics and times on this page are computed from the data and are not "
      "covered by any ε. What may be published is the folder model/.");
  for (const std::string& sign : signs_of_trouble(run.options, run.result)) {
    page.warning("Careful: " + sign + ".");
  }
  page.heading("Privacy");
  if (claim.holds) {
    page.paragraph("ε = " + rounded_up(claim.epsilon, 4) + " at δ = " + shortest(claim.delta) +
                   " (" + std::string(accountant_name(claim.accountant)) + " accountant). " +
                   claim.because + ".");
  } else {
    page.paragraph("Nothing is claimed: " + claim.because + ".");
  }
  page.heading("Training")
      .picture(loss_picture(log))
      .picture(auc_picture(log, run.result.bayes_auc));
  if (claim.holds) page.picture(epsilon_picture(log, claim));
  page.picture(stages_picture(run));
  page.heading("Numbers").table(numbers_of(run));
  return page.finish();
}

}  // namespace lazydp::cli
