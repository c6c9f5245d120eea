// lazydp release: settles every row of a run and writes the model that may be published.

#include "lazydp/release/release.h"

#include "lazydp/cli/output.h"
#include "lazydp/cli/run/persistent_run.h"
#include "lazydp/cli/run/ranks.h"
#include "lazydp/cli/run/report.h"
#include "lazydp/cli/run/run.h"
#include "lazydp/cli/run/training_run.h"
#include "lazydp/cli/verbs/verbs.h"
#include "lazydp/data/dataset.h"

namespace lazydp::cli {

void release(const FlagTexts& given) {
  choose_threads(given);
  RunDirectory directory =
      first_rank_first([&] { return RunDirectory::existing(given.operands.front()); });
  FlagTexts config = directory.config();
  // The data and an initial model may have moved: the checkpoint knows their content.
  if (given.data) config.data = given.data;
  if (given.init) config.init = given.init;
  if (given.force) config.force = given.force;
  const RunOptions options = choose_run(config);
  require_equal_ranks(options, given);
  require_memory_for(options);
  const Output output(for_this_rank(given));

  PersistentRun kept = first_rank_first(
      [&] { return PersistentRun(std::move(directory), {}, options, choose_passphrase(given)); });
  kept.lifetime = LifetimeRun::of(config, kept.directory);
  kept.from = kept.folder.open();
  require_same_settings(kept.from->head().settings, settings_of(options));

  Progress progress = output.progress();
  const UnreadableDataset data(options.task.examples());
  TrainingRun run(options, data, kept.from->head().seed, TrainingRun::Weights::zero, kept.run(),
                  ranks());
  kept.folder.restore(*kept.from, *run.trainer);
  const ReleasedModel model =
      release_run(options, std::move(run.trainer), kept, std::nullopt, progress);
  if (ranks().rank() != 0) return;
  if (std::ostream* out = output.report()) print_release(*out, model, kept.directory.model());
  output.write(model.card());
}

}  // namespace lazydp::cli
