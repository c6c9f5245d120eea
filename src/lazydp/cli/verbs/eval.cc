// lazydp eval: scores a released model on a data file.

#include <cmath>
#include <iomanip>

#include "lazydp/base/text/number_text.h"
#include "lazydp/cli/options/run_options.h"
#include "lazydp/cli/output.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/cli/run/metrics_log.h"
#include "lazydp/cli/verbs/scoring_input.h"
#include "lazydp/cli/verbs/verbs.h"
#include "lazydp/train/evaluation.h"

namespace lazydp::cli {
namespace {

std::string claim_in_words(const Json& card) {
  const Json& claim = card.at("claim");
  if (!claim.contains("epsilon")) return "no privacy claim: " + claim.value("reason", "");
  return "epsilon " + fixed(claim.at("epsilon").get<double>(), 2) + " at delta " +
         shortest(claim.at("delta").get<double>());
}

void print(std::ostream& out, const Scored& scored, const Metrics& metrics) {
  const auto row = [&out](const char* label, const std::string& value) {
    out << "  " << std::left << std::setw(22) << label << value << "\n";
  };
  out << scored.folder << " on " << scored.data_in_words << "\n";
  row("examples", with_commas(static_cast<double>(metrics.examples)));
  row("AUC", fixed(metrics.auc, 4));
  if (!scored.group_by.empty()) {
    const std::string at = "@" + std::to_string(metrics.cutoff);
    row("GAUC", fixed(metrics.gauc, 4) + "   (by " + scored.group_by + ")");
    row(("NDCG" + at).c_str(), fixed(metrics.ndcg, 4));
    row(("recall" + at).c_str(), fixed(metrics.recall, 4));
  }
  row("log-loss", fixed(metrics.logloss, 4));
  row("normalised entropy",
      fixed(metrics.normalised_entropy, 4) + "   (1: no better than the share of positives)");
  row("calibration", fixed(metrics.calibration, 4) + "   (1: as many positives as it expects)");
  row("the model", claim_in_words(scored.card));
  out << "These numbers are computed from the data: they are as secret as it is, and no part of "
         "the claim.\n";
}

}  // namespace

void eval(const FlagTexts& given) {
  choose_threads(given);
  const Output output(given);
  const Scored scored = choose_scored(given);
  const Judgement how = {
      .group_of = scored.group_of,
      .cutoff = choose_cutoff(given, !scored.group_by.empty()),
      .positive_weight =
          given.positive_weight ? positive("positive-weight", *given.positive_weight) : 1.0};
  const Metrics metrics = evaluate([&](const Batch& batch) { return scored.model->predict(batch); },
                                   *scored.data, kAllExamples, how);
  if (std::ostream* out = output.report()) print(*out, scored, metrics);
  Json json = json_of(metrics);
  json["claim"] = scored.card.at("claim");
  output.write(json);
}

}  // namespace lazydp::cli
