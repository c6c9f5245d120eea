// lazydp bench steps: how long a step of each algorithm takes, measured in one process.

#include "lazydp/apps/bench_options.h"
#include "lazydp/apps/bench_report.h"
#include "lazydp/apps/interleave.h"
#include "lazydp/apps/output.h"
#include "lazydp/apps/run_options.h"
#include "lazydp/apps/verbs.h"

namespace lazydp::apps {

void bench_steps(const Given& given) {
  choose_threads(given);
  const BenchOptions options = choose_bench(given);
  const Output output(given);

  Progress progress = output.progress();
  const Task task = make_task(options.task, options.model.shape);
  const std::vector<Measured> measured = interleave(options, task, progress);

  if (std::ostream* out = output.report()) print_bench(*out, options, measured);
  output.write(json_of(options, measured));
}

}  // namespace lazydp::apps
