// lazydp demo: trains the first and the last algorithm of the table on the click task, side by
// side.

#include <vector>

#include "lazydp/cli/options/run_options.h"
#include "lazydp/cli/output.h"
#include "lazydp/cli/run/report.h"
#include "lazydp/cli/run/run.h"
#include "lazydp/cli/verbs/verbs.h"
#include "lazydp/train/model_and_tables.h"

namespace lazydp::cli {

void demo(const FlagTexts& given) {
  choose_threads(given);
  const std::vector<RunOptions> plans = {choose_run(given, kRecipes.front()),
                                         choose_run(given, kRecipes.back())};
  for (const RunOptions& plan : plans) require_memory_for(plan);
  const Output output(given);

  Progress progress = output.progress();
  progress.say("making the click task ...");
  const TrainingData task = load_data(plans.front().task, plans.front().model.shape);
  std::vector<Finished> runs;
  Json json = {{"runs", Json::array()}};
  for (const RunOptions& plan : plans) {
    runs.push_back({plan, train_run(plan, task, progress)});
    json["runs"].push_back(json_of(plan, runs.back().result));
  }
  if (std::ostream* out = output.report()) print_comparison(*out, runs);
  output.write(json);
}

}  // namespace lazydp::cli
