#pragma once
// Every flag of the program, and what the user said for each: text, nothing decided yet.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lazydp::apps {

using Text = std::optional<std::string>;

// A field for each flag; empty where the user said nothing. Flags and config files both end here.
struct Given {
  Text algorithm, algorithms, canary, runs;
  Text model, scale, rows, dim, bottom, top, pooling, pooling_mode;
  Text synthetic, examples, sampling, sampling_rate, batch, steps, epochs;
  Text lr, dense_lr, lr_schedule, weight_decay;
  Text clip_norm, clip_schedule, noise_multiplier, noise_schedule, epsilon, delta, accountant, seed;
  Text settle, stages, threads, eval_every, rounds;
  Text json, svg, quiet, config;
};

// The verbs that take flags, as bits.
enum Takes : std::uint8_t {
  no_flags = 0,
  train_flags = 1,
  bench_flags = 2,
  demo_flags = 4,
  privacy_flags = 8,
  audit_flags = 16,
};

struct Flag {
  std::string_view name;  // with its two dashes
  Text Given::*value;
  std::uint8_t verbs;      // of Takes
  std::string_view hint;   // what its value looks like; empty for a switch
  std::string_view group;  // in the help
  std::string_view help;
};

std::span<const Flag> all_flags();

}  // namespace lazydp::apps
