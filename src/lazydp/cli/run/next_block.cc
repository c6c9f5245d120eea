#include "lazydp/cli/run/next_block.h"

#include "lazydp/base/error.h"
#include "lazydp/base/text/json.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/cli/run/run_directory.h"

namespace lazydp::cli {

Step step_before_data(const CheckpointHead& head) {
  return head.settings.value("before_data", Step{0});
}

void place_in_stream(const CheckpointHead& head, RunOptions& options) {
  if (options.sampling != Sampling::stream) return;
  const Json is = settings_of(options);
  const Json::json_pointer batch("/plan/expected_batch");
  const bool same = head.settings.at("data") == is.at("data") &&
                    head.settings.at("sampling") == is.at("sampling") &&
                    head.settings.at(batch) == is.at(batch);
  options.before_data = same ? step_before_data(head) : head.step;
}

void declare_new_block(const CheckpointHead& head, const FlagTexts& given, RunOptions& options,
                       FlagTexts& wanted) {
  if (!options.plan.blocks) return;
  if (!given.disjoint_data || !truth("disjoint-data", *given.disjoint_data)) {
    options.plan.blocks->disjoint = false;
    wanted.disjoint_data.reset();
  } else if (head.settings.at("data") == settings_of(options).at("data")) {
    throw PrivacyError(
        "disjoint-data is given, but the data is what the run was trained on before: its examples "
        "would be in two blocks");
  }
}

}  // namespace lazydp::cli
