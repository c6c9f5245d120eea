// lazydp recommend: prints the items that score best for each user.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/base/text/number_text.h"
#include "lazydp/cli/options/run_options.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/cli/verbs/score_lines.h"
#include "lazydp/cli/verbs/scoring_input.h"
#include "lazydp/cli/verbs/verbs.h"
#include "lazydp/data/scoring_text.h"
#include "lazydp/release/best_items.h"
#include "lazydp/release/pair_scorer.h"
#include "lazydp/train/metrics.h"

namespace lazydp::cli {
namespace {

// One of the two texts: what it says of each user or item, and the column that names them.
struct Named {
  std::string id_column;
  std::vector<std::string> ids;
  std::vector<bool> has;  // for each column of the schema: whether it is here
  std::vector<Batch> batches;
};

// Reads a text in batches of at most `at_most` examples. Its first column names the examples.
Named read_named(const Schema& schema, const std::string& path, std::size_t at_most) {
  ScoringText text(schema, {.path = path, .header = true, .any_columns = true});
  Named named;
  named.id_column = text.names().front();
  for (std::size_t c = 0; c < schema.columns.size(); ++c) named.has.push_back(text.has(c));
  ExampleEncoder encoder(schema);
  std::string why;
  while (const auto values = text.next()) {
    if (!encoder.add(*values, why)) text.refuse_line(why);
    named.ids.emplace_back(text.fields().front());
    if (encoder.size() == at_most) encoder.take(named.batches.emplace_back());
  }
  if (encoder.size() > 0) encoder.take(named.batches.emplace_back());
  if (named.ids.empty()) throw UserError("there is no line below the header of '" + path + "'");
  return named;
}

// Divides the model's input between users and items. Throws UserError, naming the column, unless
// each column that the model reads is in one of the texts, and in one only.
UserPart divide(const Schema& schema, const Named& users, const Named& items) {
  UserPart part;
  for (std::size_t c = 0; c < schema.columns.size(); ++c) {
    const Column& column = schema.columns[c];
    if (!is_read(column.role)) continue;
    if (users.has[c] == items.has[c]) {
      throw UserError("the column '" + column.name + "', which the model reads, is in " +
                      (users.has[c] ? "both texts" : "neither text") +
                      "; it must be in that of the users or in that of the items");
    }
    (column.role == Role::dense ? part.dense : part.tables).push_back(users.has[c]);
  }
  if (part.dense.empty()) part.dense.push_back(true);  // the one feature that is always 1
  return part;
}

using Seen = std::vector<std::unordered_set<std::uint32_t>>;

// Reads which items each user has seen: a text with the two columns that name users and items.
Seen read_seen(const Schema& schema, const std::string& path, const Named& users,
               const Named& items) {
  ScoringText text(schema, {.path = path,
                            .header = true,
                            .any_columns = true,
                            .keep = {users.id_column, items.id_column}});
  std::unordered_map<std::string_view, std::vector<std::uint32_t>> user_of, item_of;
  for (std::uint32_t u = 0; u < users.ids.size(); ++u) user_of[users.ids[u]].push_back(u);
  for (std::uint32_t i = 0; i < items.ids.size(); ++i) item_of[items.ids[i]].push_back(i);
  Seen seen(users.ids.size());
  while (text.next()) {
    const auto user = user_of.find(text.kept()[0]);
    const auto item = item_of.find(text.kept()[1]);
    if (user == user_of.end() || item == item_of.end()) continue;
    for (const std::uint32_t u : user->second) {
      seen[u].insert(item->second.begin(), item->second.end());
    }
  }
  return seen;
}

// All items as one batch: how many there are decides what a pass over them costs, not how they are
// read.
constexpr std::size_t kAllItems = static_cast<std::size_t>(-1);
constexpr std::size_t kUsers = 4096;                   // prepared together
constexpr std::size_t kLogits = std::size_t{4} << 20;  // held at once

}  // namespace

void recommend(const FlagTexts& given) {
  choose_threads(given);
  if (!given.users || !given.items) {
    throw UserError("lazydp recommend needs --for USERS and --items ITEMS");
  }
  const std::size_t top =
      given.top_items ? whole_number("top", *given.top_items, 1, std::uint64_t{1} << 30) : 10;
  const ScoreFormat format = choose_format(given, true);
  const OpenedModel opened = open_model(given.operands[0]);
  const Schema schema = opened.schema();
  const Named items = read_named(schema, *given.items, kAllItems);
  const Named users = read_named(schema, *given.users, kUsers);
  const UserPart part = divide(schema, users, items);
  const Seen seen =
      given.seen ? read_seen(schema, *given.seen, users, items) : Seen(users.ids.size());
  const auto scorer = make_pair_scorer(*opened.model, part, items.batches.front());

  ScoreLines lines(format, {users.id_column, items.id_column});
  const std::size_t at_once = std::max<std::size_t>(1, kLogits / items.ids.size());
  std::vector<std::vector<Ranked>> best(at_once);
  Matrix logits;
  std::size_t user = 0;
  double seconds = 0.0;
  for (const Batch& batch : users.batches) {
    const auto start = std::chrono::steady_clock::now();
    scorer->set_users(batch);
    for (std::size_t first = 0; first < batch.size; first += at_once) {
      const std::size_t count = std::min(at_once, batch.size - first);
      logits.reshape(count, items.ids.size());
      scorer->score(first, logits.view());
      parallel_for(
          count, [&](std::size_t u) { best[u] = best_items(logits.row(u), top, seen[user + u]); });
      for (std::size_t u = 0; u < count; ++u, ++user) {
        for (const Ranked& item : best[u]) {
          lines.add({{users.ids[user], items.ids[item.item]}}, probability(item.logit));
        }
      }
    }
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  lines.flush();
  if (given.quiet && truth("quiet", *given.quiet)) return;
  const double pairs =
      static_cast<double>(users.ids.size()) * static_cast<double>(items.ids.size());
  std::cerr << with_commas(pairs) << " pairs in " << human_duration(seconds) << ": "
            << fixed(pairs / seconds / 1e6, 1) << " million a second\n";
}

}  // namespace lazydp::cli
