#pragma once
// Every flag of the program, and the user's text for each, not interpreted yet.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lazydp::cli {

using Text = std::optional<std::string>;

// One field for each flag; empty where the user gave none. Command lines and config files both fill
// it.
struct FlagTexts {
  Text algorithm, algorithms, canary, runs, one_run, canaries;
  Text model, scale, rows, dim, bottom, top, pooling, pooling_mode, interaction;
  Text init, init_is_public, freeze;
  Text synthetic, examples, sampling, sampling_rate, batch, steps, epochs, more_steps, more_epochs;
  Text correlation, unit_participations, unit_gap, disjoint_data;
  Text positive_weight;
  Text lr, dense_lr, lr_schedule, weight_decay, dense_optimizer, table_optimizer;
  Text calibrate;
  Text clip_norm, clip_schedule, noise_multiplier, noise_schedule, noise_draws;
  Text epsilon, delta, force, accountant, seed;
  Text ledger, ledger_data, ledger_runs, withdraw;
  Text settle, stages, threads, eval_every, eval_examples, rounds;
  Text beside, html;
  Text out, checkpoint_every, table_storage, key_file, no_release, private_metrics, dry_run, branch,
      previous;
  Text data, validation, test, split_by, privacy_unit, examples_per_unit, group_by, cutoff;
  Text schema, guess, join, salt, min_count, max_bad_lines, verify, show;
  Text keep, format, users, items, top_items, seen;
  Text grid, trials_mean, trials_eta, score_noise, score_bound;
  Text smoke, quick, max_table_gb;
  Text json, svg, quiet, config;

  std::vector<std::string> operands = {};  // words beside the flags: files and folders
};

// The verbs that take a flag, as bits.
enum Takes : std::uint32_t {
  no_flags = 0,
  train_flags = 1,
  bench_flags = 2,
  demo_flags = 4,
  privacy_flags = 8,
  audit_flags = 16,
  resume_flags = 32,
  release_flags = 64,
  convert_criteo_flags = 1 << 8,
  convert_csv_flags = 1 << 9,
  generate_flags = 1 << 10,
  inspect_flags = 1 << 11,
  eval_flags = 1 << 12,
  predict_flags = 1 << 13,
  recommend_flags = 1 << 14,
  verify_flags = 1 << 15,
  sweep_flags = 1 << 20,
  tune_flags = 1 << 21,
  paper_flags = 1 << 16,
  ledger_flags = 1 << 22,
  convert_jsonl_flags = 1 << 23,
  convert_parquet_flags = 1 << 24,
  compare_flags = 1 << 25,
  export_int8_flags = 1 << 26,
};

struct Flag {
  std::string_view name;  // with its two dashes
  Text FlagTexts::*value;
  std::uint32_t verbs;     // bits of Takes
  std::string_view hint;   // form of its value; empty for a switch
  std::string_view group;  // group in the help
  std::string_view help;
  bool kept = true;  // stored in a run's config.toml: decides what the run computes or leaves
};

std::span<const Flag> all_flags();

// The values that may follow a flag, as far as they can be listed: for completion in a shell.
struct FlagValues {
  std::vector<std::string> words;  // some or all of the allowed words
  bool files = false;              // a file or a folder is allowed
};

// Derives the values from the flag's hint: "sum|mean" are words, FILE and DIR are files. Algorithms
// and models are those that exist.
FlagValues values_of(const Flag& flag);

// Returns whether a verb's operands ("IN... OUT", "DIR") are files; "bash|zsh|fish" is a list of
// words.
FlagValues operand_values(std::string_view operands);

}  // namespace lazydp::cli
