// lazydp bench steps: how long a step of each algorithm takes, measured in one process.

#include "lazydp/bench/bench_options.h"
#include "lazydp/bench/interleaved_steps.h"
#include "lazydp/cli/output.h"
#include "lazydp/cli/run/run_options.h"
#include "lazydp/cli/verbs/bench_report.h"
#include "lazydp/cli/verbs/verbs.h"

namespace lazydp::cli {

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

}  // namespace lazydp::cli
