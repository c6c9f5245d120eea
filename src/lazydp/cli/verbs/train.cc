// lazydp train: trains one run, with progress and a report.

#include "lazydp/base/error.h"
#include "lazydp/cli/options/privacy_limits.h"
#include "lazydp/cli/options/run_options.h"
#include "lazydp/cli/output.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/cli/run/persistent_run.h"
#include "lazydp/cli/run/ranks.h"
#include "lazydp/cli/run/run.h"
#include "lazydp/cli/verbs/verbs.h"

namespace lazydp::cli {

namespace {

// Returns the flags with a data file that stands beside them as --data.
FlagTexts with_data(FlagTexts given) {
  if (given.operands.empty()) return given;
  const std::string data = given.operands.front();
  if (given.data && *given.data != data) {
    throw UserError("data is '" + *given.data + "', and '" + data +
                    "' stands beside the flags; give one of the two");
  }
  given.data = data;
  given.operands.clear();
  return given;
}

}  // namespace

void train(const FlagTexts& as_given) {
  choose_threads(as_given);
  const FlagTexts asked = with_ledger_in_full(with_table_folder_in_full(with_data(as_given)));
  const RunOptions options = choose_run(asked);
  const FlagTexts given = with_choices(asked, options);
  require_equal_ranks(options, given);
  warn_of_large_budget(options.plan);
  const SaveOptions keeping = choose_keeping(given);
  require_memory_for(options);
  require_disk_for(options, keeping, given.out.value_or(""));
  const Output output(for_this_rank(given));
  if (given.dry_run && truth("dry-run", *given.dry_run)) {
    if (ranks().rank() == 0) dry_run(options, at_beginning(options.plan), output);
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
