#pragma once
// One training run from first weights to final numbers.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "lazydp/bench/step_times.h"
#include "lazydp/cli/options/run_options.h"
#include "lazydp/data/training_data.h"
#include "lazydp/model/score_scaling.h"
#include "lazydp/release/release.h"
#include "lazydp/report/progress.h"
#include "lazydp/train/claim.h"
#include "lazydp/train/evaluation.h"
#include "lazydp/train/memory_needs.h"
#include "lazydp/train/plan.h"

namespace lazydp::cli {

// The results of a run. Everything but `claim` is computed from the data, and so must not be
// published.
struct RunResult {
  StepTimes times;
  double seconds = 0.0;              // all steps, from the first to the last
  double settle_seconds = 0.0;       // settling all rows at the end
  double save_seconds = 0.0;         // the last checkpoint during the run
  double loss = 0.0;                 // mean over the last tenth of the steps
  std::optional<double> first_loss;  // of the first steps, if they were taken in this session
  Metrics held_out;                  // NaN if nothing was held out
  std::optional<ScoreScaling> score_scaling;  // none: scores were not calibrated
  double bayes_auc = 0.0;
  double bayes_logloss = 0.0;
  Claim claim;
  Ledger spent;  // what the claim is computed from
  Microbatches microbatches;
  std::uint64_t table_bytes = 0;
  std::uint64_t file_bytes = 0;  // disk space of tables in files; 0: they were in memory
  std::uint64_t history_bytes = 0;
  std::uint64_t peak_rss_bytes = 0;
  int threads = 0;  // on this rank
  int ranks = 1;
  std::uint64_t exchanged_bytes = 0;  // sent by this rank to others while it trained
  CommThread::Times exchange;         // times of the communication thread
  Step steps = 0;                     // taken in all, including earlier sessions
  bool budget_spent = false;          // it stopped before the step that would have exceeded it
  std::string released;               // the folder of the released model, if one was written
};

class Output;
struct PersistentRun;  // persistent_run.h: a run with a folder
struct SaveOptions;    // likewise: when it saves itself

MemoryNeeds needs_of(const RunOptions& options);

// Throws UserError if the run does not fit into the available memory.
void require_memory_for(const RunOptions& options);

// Upper bounds on the disk space of a run, in bytes.
struct DiskNeeds {
  double tables = 0.0;  // in files: rows that will be read, and their copies between checkpoints
  double checkpoints = 0.0;  // without rows if those are in files
  double model = 0.0;        // the released model
};

DiskNeeds disk_needs(const RunOptions& options, const SaveOptions& keeping, bool kept);

// Throws UserError, with both numbers, unless there is room in the tables' folder and in `out`, the
// folder of the run (empty: it has none).
void require_disk_for(const RunOptions& options, const SaveOptions& keeping,
                      const std::string& out);

// Throws PrivacyError if a plan has steps to take after `now`, but its budget pays for none: `last`
// is the last that it pays for.
void require_affordable(const Plan& plan, Step now, Step last);

// Trains; the caller has checked the memory. With `kept` it continues where the folder says, saves
// itself, and releases at the end. Throws Interrupted if a signal asked it to stop.
RunResult train_run(const RunOptions& options, const TrainingData& task, Progress& progress,
                    PersistentRun* kept = nullptr);

// Loads the data, trains, and reports the results for people and machines.
void run_and_report(const RunOptions& options, const Output& output, PersistentRun* kept);

// Releases the trained model into the folder's model/.
ReleasedModel release_run(const RunOptions& options, std::unique_ptr<Trainer> trainer,
                          PersistentRun& kept, const std::optional<Metrics>& metrics,
                          Progress& progress);

// Reports what a run that has done `so_far` would claim, and which memory and time it would need,
// without training. Reads no data. The time is measured on a few steps on made-up look-ups in
// tables of at most a gigabyte, which are thrown away; the time of eager noise grows with the
// tables and is scaled up.
void dry_run(const RunOptions& options, const Progressed& so_far, const Output& output);

}  // namespace lazydp::cli
