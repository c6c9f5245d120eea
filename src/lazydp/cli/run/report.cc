#include "lazydp/cli/run/report.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "lazydp/base/text/number_text.h"
#include "lazydp/cli/options/initial_options.h"
#include "lazydp/cli/run/training_health.h"
#include "lazydp/embedding/first_weights.h"
#include "lazydp/embedding/table.h"
#include "lazydp/train/claim.h"

namespace lazydp::cli {
namespace {

constexpr int kLabel = 22;
constexpr int kColumn = 16;

void row(std::ostream& out, const std::string& label, const std::string& value) {
  out << "  " << std::left << std::setw(kLabel) << label << value << "\n";
}

std::string privacy_in_words(const Claim& claim) {
  if (!claim.holds) return "no claim: " + claim.because;
  return "epsilon " + fixed_up(claim.epsilon, 2) + " at delta " + shortest(claim.delta) + " (" +
         std::string(accountant_name(claim.accountant)) + " accountant)";
}

bool units_in_batches(const RunOptions& options) {
  return options.task.file && options.task.file->units && options.sampling != Sampling::stream;
}

std::string name_of(const Finished& run) {
  return std::string(run.options.plan.recipe.name);
}

double steps_per_second(const Finished& run) {
  return run.result.times.steps() / run.result.seconds;
}

// Prints the effect of the budget on the run.
void print_budget(std::ostream& out, const Finished& run) {
  const Plan& plan = run.options.plan;
  if (!plan.budget) return;
  const std::string budget = "epsilon " + shortest(plan.budget->epsilon);
  row(out, "budget",
      run.result.budget_spent
          ? budget + ": stopped after " + with_commas(run.result.steps) + " of " +
                with_commas(plan.steps) + " steps, before the one that would exceed it"
      : !run.result.claim.holds ? "noise as for " + budget + ", which is not claimed"
      : run.options.calibrated
          ? budget + ": noise multiplier " + shortest(plan.mechanism.noise_multiplier) +
                " was chosen to meet it"
          : budget + ": kept");
}

// Prints a paragraph, broken between words.
void print_paragraph(std::ostream& out, const std::string& text) {
  constexpr std::size_t kWidth = 96;
  std::istringstream words(text);
  std::size_t column = 0;
  for (std::string word; words >> word; column += word.size() + 1) {
    if (column + word.size() > kWidth) column = 0;
    out << (column == 0 ? "\n" : " ") << word;
  }
  out << "\n";
}

// Prints the grounds of each run's claim, then what no run claims.
void print_claims(std::ostream& out, const std::vector<Finished>& runs) {
  for (const Finished& run : runs) {
    for (const std::string& sign : signs_of_trouble(run.options, run.result)) {
      print_paragraph(out, "Careful: " + sign + ".");
    }
  }
  for (const Finished& run : runs) {
    const Claim& claim = run.result.claim;
    print_paragraph(
        out, claim.holds ? "Claimed for " + name_of(run) + ": " + privacy_in_words(claim) + ". " +
                               claim.because + "."
                         : "Nothing is claimed for " + name_of(run) + ": " + claim.because + ".");
  }
  print_paragraph(out,
                  "Never claimed: anything about the numbers on this screen (losses, AUC and times "
                  "are computed from the data and are as secret as the data), about states before "
                  "the end of training, or about timing.");
  for (const Finished& run : runs) {
    const RowId fewest = std::ranges::min(run.options.model.shape.table_rows);
    const float largest =
        run.options.initial ? run.options.initial->largest_weight() : largest_first_weight(fewest);
    const double ulps = least_noise_in_ulps(run.options.plan, largest);
    if (!run.result.claim.holds || ulps >= kFineEnough) continue;
    print_paragraph(out,
                    "Careful: the least noise of a step is " + fixed(ulps, 1) +
                        " times the rounding of the weights it is added to; below " +
                        fixed(kFineEnough, 0) +
                        " rounding may show through. Use a larger learning rate at the end, or "
                        "fewer steps.");
  }
  for (const Finished& run : runs) {
    const auto& data = run.options.task.file;
    if (!data || data->file->schema().from_data.empty()) continue;
    print_paragraph(out, "Not covered by epsilon: what the schema of " + run.options.task.name +
                             " took from the data (" + data->file->schema().from_data + ").");
  }
  for (const Finished& run : runs) {
    const auto examples = static_cast<double>(run.options.task.examples());
    if (!run.result.claim.holds || run.options.delta < 1.0 / examples) continue;
    print_paragraph(out, "Careful: delta " + shortest(run.options.delta) + " is not below 1 / " +
                             with_commas(examples) +
                             " examples; that allows a person's data to be given away.");
  }
}

void print_stages(std::ostream& out, const Finished& run) {
  std::string text;
  const Performance& performance = run.options.performance;
  for (const auto& [name, ms] :
       run.result.times.stages_ms(run.options.plan.recipe, performance.passes)) {
    text += std::string(name) + " " + fixed(ms, 2) + "  ";
  }
  row(out, "ms of a step", text + "(" + stages_name(performance) + " kernels)");
}

std::string joined(const std::vector<std::size_t>& widths) {
  std::string text;
  for (const std::size_t width : widths) text += (text.empty() ? "" : "-") + std::to_string(width);
  return text;
}

// Prints the data, and the choices made for it.
void print_file(std::ostream& out, const RunOptions& options) {
  const TrainingFile& data = *options.task.file;
  const ModelShape& shape = options.model.shape;
  row(out, "data",
      with_commas(static_cast<double>(data.train->size())) + " examples to train on, split " +
          data.split);
  if (data.units) {
    row(out, "units",
        with_commas(static_cast<double>(data.units->size())) + " of at most " +
            with_commas(static_cast<double>(data.units->largest())) + " examples");
    row(out, "a unit sends", sent_in_words(options.plan.examples_per_unit));
  }
  row(out, "model",
      std::to_string(shape.tables()) + " tables of " +
          with_commas(static_cast<double>(shape.total_rows())) + " rows in all, dim " +
          std::to_string(shape.dim) + ", bottom " + joined(shape.bottom) + ", top " +
          joined(shape.top));
  const Plan& plan = options.plan;
  row(out, "training",
      "learning rates " + shortest(plan.table_rate) +
          (plan.table_rule == TableRule::sgd
               ? " (tables) and "
               : " (tables, " + std::string(table_rule_name(plan.table_rule)) + ") and ") +
          shortest(plan.dense_rate) + " (dense, " + std::string(dense_rule_name(plan.dense_rule)) +
          "), clip norm " + shortest(plan.mechanism.clip_norm) + ", noise multiplier " +
          shortest(plan.mechanism.noise_multiplier) +
          (plan.positive_weight == 1.0
               ? ""
               : ", a positive counts as " + shortest(plan.positive_weight) + " examples"));
}

std::string gauc_in_words(const Metrics& metrics, const RunOptions& options) {
  const std::string at = "@" + std::to_string(metrics.cutoff) + " ";
  return fixed(metrics.gauc, 4) + ", NDCG" + at + fixed(metrics.ndcg, 4) + ", recall" + at +
         fixed(metrics.recall, 4) + "   (by " + *options.task.file->group_by + ")";
}

std::string in_files(const RunResult& result) {
  if (result.file_bytes == 0) return "";
  return " (" + human_bytes(static_cast<double>(result.file_bytes)) + " in files)";
}

}  // namespace

void print_report(std::ostream& out, const Finished& run) {
  const auto& [options, result] = run;
  const StepTimes& times = result.times;
  out << "\n"
      << name_of(run) << " on " << options.model.shape.name << ", " << options.task.in_words()
      << ": " << with_commas(result.steps) << " steps of "
      << with_commas(static_cast<double>(options.batch))
      << (units_in_batches(options) ? " units (" : " examples (")
      << (options.sampling == Sampling::poisson ? "Poisson" : sampling_name(options.sampling))
      << "), " << (result.ranks > 1 ? std::to_string(result.ranks) + " ranks x " : "")
      << result.threads << (result.threads == 1 ? " thread, " : " threads, ")
      << human_duration(result.seconds) << "\n\n";
  if (options.task.file) print_file(out, options);
  if (options.task.learnable()) {
    const auto beside_best = [](double value, double best) {
      return fixed(value, 4) + (std::isnan(best) ? "" : "   (Bayes " + fixed(best, 4) + ")");
    };
    row(out, "held-out AUC", beside_best(result.held_out.auc, result.bayes_auc));
    if (options.task.grouped()) row(out, "held-out GAUC", gauc_in_words(result.held_out, options));
    row(out, "held-out log-loss", beside_best(result.held_out.logloss, result.bayes_logloss));
    row(out, "normalised entropy",
        fixed(result.held_out.normalised_entropy, 4) + ", calibration " +
            fixed(result.held_out.calibration, 3));
  }
  if (const auto& scaling = result.score_scaling) {
    row(out, "scores",
        "x " + fixed(scaling->scale, 3) + (scaling->shift < 0.0 ? " - " : " + ") +
            fixed(std::abs(scaling->shift), 3) + ", calibrated by noisy counts");
  }
  row(out, "training loss", fixed(result.loss, 4) + "   (mean of the last tenth)");
  if (const std::string begun = beginning_in_words(options); !begun.empty()) {
    row(out, "begins", begun);
  }
  row(out, "privacy", privacy_in_words(result.claim));
  print_budget(out, run);
  row(out, "speed",
      fixed(steps_per_second(run), 1) + " steps/s, " + fixed(median(times.step_ms()), 2) +
          " ms a step (median), " + fixed(quantile(times.step_ms(), 0.0), 2) +
          " (fastest); settle " + settle_name(options.performance));
  print_stages(out, run);
  row(out, "rows a step",
      with_commas(times.rows_read()) + " read, " + with_commas(times.rows_written()) + " written");
  row(out, "memory",
      "tables " + human_bytes(static_cast<double>(result.table_bytes)) + in_files(result) +
          ", history " + human_bytes(static_cast<double>(result.history_bytes)) + ", at most " +
          human_bytes(static_cast<double>(result.peak_rss_bytes)) + " in all");
  row(out, "settling at the end", human_duration(result.settle_seconds));
  if (result.microbatches.examples > 0) {
    row(out, "micro-batches",
        with_commas(static_cast<double>(result.microbatches.examples)) +
            " examples at a time; one pass over the batch would need " +
            human_bytes(static_cast<double>(result.microbatches.bytes_one_pass)));
  }
  if (!result.released.empty()) row(out, "released", result.released + "/model.safetensors");
  print_claims(out, {run});
}

void print_release(std::ostream& out, const ReleasedModel& model, const std::string& folder) {
  out << "\n";
  row(out, "released", folder + "/model.safetensors and card.json");
  row(out, "privacy", privacy_in_words(model.claim()));
  if (model.claim().holds) print_paragraph(out, model.claim().because + ".");
}

void print_comparison(std::ostream& out, const std::vector<Finished>& runs) {
  const auto line = [&](const std::string& label, const std::string& bayes, auto&& value) {
    out << "  " << std::left << std::setw(kLabel) << label << std::right;
    for (const Finished& run : runs) out << std::setw(kColumn) << value(run);
    if (!bayes.empty()) out << std::setw(kColumn) << bayes;
    out << "\n";
  };
  const RunResult& any = runs.front().result;
  out << "\n";
  line("", "Bayes (best)", name_of);
  line("held-out AUC", fixed(any.bayes_auc, 4),
       [](const Finished& run) { return fixed(run.result.held_out.auc, 4); });
  line("held-out log-loss", fixed(any.bayes_logloss, 4),
       [](const Finished& run) { return fixed(run.result.held_out.logloss, 4); });
  line("epsilon", "", [](const Finished& run) {
    return run.result.claim.holds ? fixed_up(run.result.claim.epsilon, 2) : "no claim";
  });
  line("accountant", "", [](const Finished& run) {
    return run.result.claim.holds ? accountant_name(run.result.claim.accountant) : "-";
  });
  line("delta", "", [](const Finished& run) {
    return run.result.claim.holds ? shortest(run.result.claim.delta) : "-";
  });
  line("expected batch", "",
       [](const Finished& run) { return with_commas(static_cast<double>(run.options.batch)); });
  line("steps", "", [](const Finished& run) { return with_commas(run.result.steps); });
  line("steps/s", "", [](const Finished& run) { return fixed(steps_per_second(run), 1); });
  line("time", "", [](const Finished& run) { return human_duration(run.result.seconds); });
  print_claims(out, runs);
}

}  // namespace lazydp::cli
