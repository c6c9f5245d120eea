#include "lazydp/cli/run/run_page.h"

#include <cmath>

#include "lazydp/base/text/number_text.h"
#include "lazydp/cli/run/run_curves.h"
#include "lazydp/cli/run/training_health.h"
#include "lazydp/privacy/trade_off.h"
#include "lazydp/report/chart.h"
#include "lazydp/report/html_page.h"

namespace lazydp::cli {
namespace {

// Returns the log-loss of always saying the share of positives, on the held-out part.
double constant_logloss(const Metrics& held_out) {
  return held_out.logloss / held_out.normalised_entropy;
}

std::string loss_picture(const Finished& run, const std::vector<Json>& log,
                         const RunRecord* beside) {
  RunCurves curves({.title = "Loss", .note = "log-loss; training: means over runs of steps"},
                   loss_axis());
  curves.curve("training", smoothed(points_of(log, "loss")))
      .curve("held out", points_of(log, "logloss"))
      .level("constant", constant_logloss(run.result.held_out));
  if (beside != nullptr) curves.level(beside->name(), beside->number("logloss"));
  return curves.without_spikes().svg();
}

std::string auc_picture(const Finished& run, const std::vector<Json>& log,
                        const RunRecord* beside) {
  RunCurves curves({.title = "AUC", .note = "on examples that are held out; 0.5 is guessing"},
                   auc_axis("AUC"));
  curves.curve("held out", points_of(log, "auc"))
      .curve("within groups", points_of(log, "gauc"))
      .level("best possible", run.result.bayes_auc);
  if (beside != nullptr) curves.level(beside->name(), beside->number("auc"));
  return curves.svg();
}

std::string epsilon_picture(const std::vector<Json>& log, const Claim& claim) {
  return RunCurves({.title = "ε if released then, at δ = " + shortest(claim.delta),
                    .note = "of the data this much is spent by publishing the model of that step"},
                   {.name = "ε"})
      .curve("ε", points_of(log, "epsilon"))
      .svg();
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

// Says in a paragraph what the claim means for one whose data it protects.
std::string meaning_of(const Finished& run) {
  constexpr double kFalseAlarms = 0.01;
  const Claim& claim = run.result.claim;
  const bool sampled = claim.confidence < 1.0;  // then this one point of the curve is proved
  const TradeOff power = sampled
                             ? TradeOff(std::vector<TradeOff::Point>{{claim.epsilon, claim.delta}})
                             : TradeOff::of(run.result.spent);
  const double found = 1.0 - power.least_miss(kFalseAlarms);
  const bool units = run.options.task.file && run.options.task.file->units;
  const std::string who = units
                              ? "value of " + run.options.task.file->unit + " with all its examples"
                              : std::string("example");
  return "It bounds what the released model tells of any one " + who +
         ". Think of an attacker who knows all other data and wants to find out from the model "
         "whether that one was there. If false alarms in 1 of 100 cases are allowed, such an "
         "attacker detects it in at most " +
         fixed_up(100.0 * found, 1) +
         " of 100 cases in which it was there; without the model, in 1. Real attackers know less. "
         "The smaller ε, the nearer this is to 1.";
}

std::vector<std::vector<std::string>> numbers_of(const Finished& run) {
  const auto& [options, result] = run;
  const Plan& plan = options.plan;
  std::vector<std::vector<std::string>> rows = {
      {"", ""},
      {"algorithm", std::string(plan.recipe.name)},
      {"data", options.task.name + ", " +
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
  rows.push_back({"training loss", fixed(result.loss, 4) + " (mean of the last tenth)"});
  rows.push_back({"time", human_duration(result.seconds) + ", " +
                              fixed(median(result.times.step_ms()), 2) + " ms a step (median), " +
                              std::to_string(result.threads) +
                              (result.threads == 1 ? " thread" : " threads")});
  rows.push_back({"memory", human_bytes(static_cast<double>(result.peak_rss_bytes)) + " at most"});
  return rows;
}

// Compares the model with the constant one, and with the run beside it.
std::vector<std::vector<std::string>> quality_of(const Finished& run, const RunRecord* beside) {
  const Metrics& held_out = run.result.held_out;
  std::vector<std::vector<std::string>> rows = {{"", "this model", "a constant"}};
  if (beside != nullptr) rows[0].push_back(beside->name());
  const auto add = [&](const std::string& label, double value, const std::string& constant,
                       const char* name) {
    rows.push_back({label, fixed(value, 4), constant});
    if (beside != nullptr) rows.back().push_back(fixed(beside->number(name), 4));
  };
  add("AUC (0.5: guessing, 1: every pair in order)", held_out.auc, "0.5000", "auc");
  if (run.options.task.grouped()) {
    const std::string at = "@" + std::to_string(held_out.cutoff);
    add("GAUC, by " + *run.options.task.file->group_by, held_out.gauc, "0.5000", "gauc");
    add("NDCG" + at + " (1: all positives first)", held_out.ndcg, "", "ndcg");
    add("recall" + at + " (share of positives among the first)", held_out.recall, "", "recall");
  }
  add("log-loss (smaller is better)", held_out.logloss, fixed(constant_logloss(held_out), 4),
      "logloss");
  add("normalised entropy (log-loss / the constant's)", held_out.normalised_entropy, "1.0000",
      "normalised_entropy");
  add("calibration (positives expected / seen)", held_out.calibration, "1.0000", "calibration");
  if (beside != nullptr) {
    rows.push_back(
        {"ε", run.result.claim.holds ? rounded_up(run.result.claim.epsilon, 4) : "–", "0",
         std::isnan(beside->number("epsilon")) ? "no claim"
                                               : rounded_up(beside->number("epsilon"), 4)});
  }
  return rows;
}

}  // namespace

std::string run_page(const Finished& run, const std::vector<Json>& log, const Provenance& from,
                     const RunRecord* beside) {
  const RunResult& result = run.result;
  const Claim& claim = result.claim;
  const DataSource& data = run.options.task;
  HtmlPage page(data.file ? "A model of " + data.name
                          : run.options.model.shape.name + " on " + data.in_words(),
                std::string(run.options.plan.recipe.name) + ", finished " + from.finished + ", " +
                    from.program);
  page.code(from.command);
  page.warning(
      "Secret: losses, metrics and times on this page are computed from the data and are not "
      "covered by any ε. What may be published is the folder model/.");
  for (const std::string& sign : signs_of_trouble(run.options, result)) {
    page.warning("Careful: " + sign + ".");
  }
  if (beside != nullptr && !judged_alike(json_of(run.options, result), beside->numbers)) {
    page.warning("Careful: " + beside->name() +
                 " was judged on other examples, or in another way (--positive-weight): its "
                 "numbers do not compare.");
  }
  page.heading("Privacy");
  if (claim.holds) {
    page.paragraph("ε = " + rounded_up(claim.epsilon, 4) + " at δ = " + shortest(claim.delta) +
                   ". " + meaning_of(run));
    page.paragraph("Claimed by the " + std::string(accountant_name(claim.accountant)) +
                   " accountant: " + claim.because + ".");
  } else {
    page.paragraph("Nothing is claimed: " + claim.because + ".");
  }
  if (result.held_out.examples > 0) {
    page.heading("How good it is").table(quality_of(run, beside));
    page.paragraph("On " + with_commas(static_cast<double>(result.held_out.examples)) +
                   " examples that were held out. A constant says the share of positives for "
                   "every example" +
                   (beside != nullptr ? "; " + beside->name() + " is the run in " + beside->folder +
                                            ", judged on what it held out."
                                      : "."));
  }
  page.heading("Training").picture(loss_picture(run, log, beside));
  if (result.held_out.examples > 0) page.picture(auc_picture(run, log, beside));
  if (claim.holds) page.picture(epsilon_picture(log, claim));
  page.heading("Settings").table(numbers_of(run));
  page.heading("Time").picture(stages_picture(run));
  return page.finish();
}

}  // namespace lazydp::cli
