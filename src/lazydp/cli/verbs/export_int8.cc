// lazydp export int8: a released model with its tables in eight bits a weight.

#include <optional>
#include <ostream>

#include "lazydp/base/error.h"
#include "lazydp/base/text/number_text.h"
#include "lazydp/cli/options/run_options.h"
#include "lazydp/cli/output.h"
#include "lazydp/cli/run/metrics_log.h"
#include "lazydp/cli/verbs/scoring_input.h"
#include "lazydp/cli/verbs/verbs.h"
#include "lazydp/release/int8_rows.h"
#include "lazydp/train/evaluation.h"

namespace lazydp::cli {
namespace {

// Returns the metrics of a model on --data.
Metrics judge(const std::string& model, FlagTexts given) {
  given.operands = {model, *given.data};
  const Scored scored = choose_scored(given);
  return evaluate([&](const Batch& batch) { return scored.model->predict(batch); }, *scored.data);
}

void print(std::ostream& out, const Metrics& before, const Metrics& after) {
  out << "AUC " << fixed(after.auc, 5) << ", before " << fixed(before.auc, 5) << "; log-loss "
      << fixed(after.logloss, 5) << ", before " << fixed(before.logloss, 5)
      << "\nThese numbers are computed from the data: they are as secret as it is, and no part of "
         "the claim.\n";
}

}  // namespace

void export_int8(const FlagTexts& given) {
  choose_threads(given);
  const Output output(given);
  const std::string& out = given.operands[1];
  if (!given.data && (given.test || given.split_by)) {
    throw UserError("test and split-by are about --data, which is not given");
  }
  const std::string model = folder_of_model(given.operands[0]);
  const std::optional<Metrics> before =
      given.data ? std::optional(judge(model, given)) : std::nullopt;
  const Int8Sizes sizes = write_with_int8_rows(model, out);
  const std::optional<Metrics> after = given.data ? std::optional(judge(out, given)) : std::nullopt;
  if (std::ostream* report = output.report()) {
    *report << out << ": " << human_bytes(static_cast<double>(sizes.bytes_after))
            << " of weights, before " << human_bytes(static_cast<double>(sizes.bytes_before))
            << "\n";
    if (after) print(*report, *before, *after);
  }
  Json json = {{"bytes_before", sizes.bytes_before}, {"bytes_after", sizes.bytes_after}};
  if (after) json.update({{"before", json_of(*before)}, {"after", json_of(*after)}});
  output.write(json);
}

}  // namespace lazydp::cli
