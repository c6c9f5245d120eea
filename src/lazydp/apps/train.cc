// lazydp train: one run, with progress and a report.

#include "lazydp/apps/output.h"
#include "lazydp/apps/report.h"
#include "lazydp/apps/run.h"
#include "lazydp/apps/run_json.h"
#include "lazydp/apps/run_options.h"
#include "lazydp/apps/verbs.h"

namespace lazydp::apps {

void train(const Given& given) {
  choose_threads(given);
  const RunOptions options = choose_run(given);
  require_memory_for(options);
  const Output output(given);

  Progress progress = output.progress();
  const Task task = make_task(options.task, options.model.shape);
  const Finished run = {options, train_run(options, task, progress)};

  if (std::ostream* out = output.report()) print_report(*out, run);
  output.write(json_of(run.options, run.result));
}

}  // namespace lazydp::apps
