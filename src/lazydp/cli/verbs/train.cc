// lazydp train: trains one run, with progress and a report.

#include "lazydp/cli/options/privacy_limits.h"
#include "lazydp/cli/options/run_options.h"
#include "lazydp/cli/output.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/cli/run/persistent_run.h"
#include "lazydp/cli/run/ranks.h"
#include "lazydp/cli/run/run.h"
#include "lazydp/cli/verbs/verbs.h"

namespace lazydp::cli {

void train(const FlagTexts& as_given) {
  choose_threads(as_given);
  const FlagTexts asked = with_ledger_in_full(with_table_folder_in_full(as_given));
  const RunOptions options = choose_run(asked);
  const FlagTexts given = with_choices(asked, options);
  require_equal_ranks(options, given);
  warn_of_large_budget(options.plan);
  const SaveOptions keeping = choose_keeping(given);
  require_memory_for(options);
  require_disk_for(options, keeping, given.out.value_or(""));
  const Output output(for_this_rank(given));
  if (given.dry_run && truth("dry-run", *given.dry_run)) {
    if (ranks().rank() == 0) dry_run(options, output);
    return;
  }
  if (!given.out) return run_and_report(options, output, nullptr);

  PersistentRun kept = first_rank_first([&] {
    return PersistentRun(RunDirectory::for_run(*given.out, given), keeping, options,
                         choose_passphrase(given));
  });
  kept.lifetime = LifetimeRun::of(given, kept.directory);
  kept.open_checkpoint();
  if (kept.from) require_same_settings(kept.from->head().settings, settings_of(options));
  run_and_report(options, output, &kept);
}

}  // namespace lazydp::cli
