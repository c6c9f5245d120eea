#include "lazydp/cli/run/ranks.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/base/version.h"
#include "lazydp/cli/run/report.h"
#include "lazydp/cli/run/run_directory.h"
#include "lazydp/shard/launch.h"

namespace lazydp::cli {
namespace {

std::unique_ptr<Communicator>& joined() {
  static std::unique_ptr<Communicator> all = join_ranks();
  return all;
}

// The flags that say when ranks synchronise, where they continue from, and where they write.
constexpr std::array kMeetings = {
    &FlagTexts::eval_every, &FlagTexts::eval_examples,   &FlagTexts::checkpoint_every,
    &FlagTexts::no_release, &FlagTexts::private_metrics, &FlagTexts::dry_run,
    &FlagTexts::branch,     &FlagTexts::previous,        &FlagTexts::out};

// Returns the values that must be equal for ranks to train one model, and to synchronise at the
// same steps.
Json terms_of(const RunOptions& options, const FlagTexts& given) {
  Json terms = {{"program", version()},
                {"settings", settings_of(options)},
                {"seed_value", options.seed ? Json(*options.seed) : Json()},
                {"settle", settle_name(options.performance)},
                {"operands", given.operands}};
  for (const Flag& flag : all_flags()) {
    const Text& text = given.*flag.value;
    if (text && std::ranges::find(kMeetings, flag.value) != kMeetings.end()) {
      terms["flags"][std::string(flag.name.substr(2))] = *text;
    }
  }
  return terms;
}

std::string differences(const Json& first, const Json& other) {
  const Json before = first.flatten();
  const Json after = other.flatten();
  const auto text = [](const Json& json, const std::string& key) {
    return json.contains(key) ? json[key].dump() : std::string("nothing");
  };
  std::string all;
  const auto note = [&](const std::string& key) {
    all += (all.empty() ? "" : "; ") + key.substr(key.rfind('/') + 1) + " is " + text(after, key) +
           " there and " + text(before, key) + " on rank 0";
  };
  for (const auto& [key, value] : before.items()) {
    if (!after.contains(key) || after[key] != value) note(key);
  }
  for (const auto& [key, value] : after.items()) {
    if (!before.contains(key)) note(key);
  }
  return all;
}

}  // namespace

Communicator& ranks() {
  return joined() ? *joined() : alone();
}

void leave_ranks() {
  if (launched().size > 1) joined().reset();
}

FlagTexts for_this_rank(const FlagTexts& given) {
  FlagTexts mine = given;
  if (ranks().rank() == 0) return mine;
  mine.json.reset();
  mine.quiet = "true";
  return mine;
}

int threads_of_rank() {
  if (ranks().size() == 1) return thread_count();
  const auto cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  return std::max(1, std::min(thread_count(), cores / ranks().neighbours()));
}

void require_equal_ranks(const RunOptions& options, const FlagTexts& given) {
  if (ranks().size() == 1) return;
  if (options.table_folder) {
    throw UserError("table-storage is " + *options.table_folder +
                    ", but several ranks keep their tables in memory; start more of them, or one");
  }
  const std::vector<std::string> all = ranks().gather(terms_of(options, given).dump());
  std::string trouble;
  for (std::size_t p = 1; p < all.size() && trouble.empty(); ++p) {
    const std::string how = differences(Json::parse(all[0]), Json::parse(all[p]));
    if (!how.empty()) trouble = "rank " + std::to_string(p) + " differs: " + how;
  }
  trouble = ranks().broadcast_text(trouble);
  if (!trouble.empty()) {
    throw UserError(trouble + "; start the same program with the same flags and data on all ranks");
  }
}

void require_one_rank(std::string_view verb) {
  if (ranks().size() == 1) return;
  throw UserError("lazydp " + std::string(verb) + " is for one process; this is one of " +
                  std::to_string(ranks().size()));
}

Seed same_seed(const RunOptions& options) {
  Seed seed = Seed::make(options.seed);
  Seed::Bytes bytes = seed.reveal();
  ranks().broadcast(std::as_writable_bytes(std::span(bytes)), 0);
  return Seed::restored(bytes, seed.secret());
}

}  // namespace lazydp::cli
