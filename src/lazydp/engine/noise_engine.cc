#include "lazydp/engine/noise_engine.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/stages.h"
#include "lazydp/base/version.h"
#include "lazydp/clip/table_norms.h"
#include "lazydp/noise/sgd_tables.h"
#include "lazydp/random/seed.h"

namespace lazydp {
namespace {

void require(bool ok, const std::string& complaint) {
  if (!ok) throw UserError(complaint);
}

std::string name_of(std::size_t table) {
  return "table " + std::to_string(table);
}

std::vector<Table> borrow(std::span<const BorrowedTable> tables) {
  constexpr std::size_t kMostTables = std::size_t{1} << 16;
  require(tables.size() <= kMostTables,
          std::to_string(tables.size()) + " tables were given; an engine takes at most 65536");
  std::vector<Table> borrowed;
  for (std::size_t k = 0; k < tables.size(); ++k) {
    const auto& [weights, dim] = tables[k];
    require(dim > 0 && dim <= kMaxDim, name_of(k) + " has rows of " + std::to_string(dim) +
                                           " floats; 1 to " + std::to_string(kMaxDim) +
                                           " are allowed");
    require(!weights.empty() && weights.size() % dim == 0,
            name_of(k) + " has " + std::to_string(weights.size()) + " floats; it must be rows of " +
                std::to_string(dim) + ", at least one");
    borrowed.push_back(Table::borrow(static_cast<TableId>(k), weights, dim));
  }
  return borrowed;
}

unsigned draws_of(const EngineOptions& options) {
  require(options.noise_draws >= 1 && options.noise_draws <= NoiseSource::kMostDraws,
          "noise_draws is " + std::to_string(options.noise_draws) + "; it must be 1 to " +
              std::to_string(NoiseSource::kMostDraws));
  return options.noise_draws;
}

Seed seed_of(const EngineOptions& options) {
  return options.fixed_seed ? Seed::fixed(*options.fixed_seed) : Seed::from_os();
}

void require_rows(std::size_t table, std::span<const RowId> ids, RowId rows) {
  for (const RowId id : ids) {
    require(id >= 0 && id < rows, "row " + std::to_string(id) + " of " + name_of(table) +
                                      ", which has rows 0 to " + std::to_string(rows - 1));
  }
}

void require_number(const char* name, double value, bool may_be_zero) {
  require(std::isfinite(value) && (may_be_zero ? value >= 0.0 : value > 0.0),
          std::string(name) + " is " + std::to_string(value) + "; it must be " +
              (may_be_zero ? "0 or more" : "positive"));
}

void require_rule(const StepRule& rule, bool decays) {
  require_number("learning_rate", rule.learning_rate, false);
  require_number("expected_batch", rule.expected_batch, false);
  require_number("noise_multiplier", rule.noise_multiplier, true);
  require_number("weight_decay", rule.weight_decay, true);
  if (rule.noise_multiplier > 0.0) require_number("clip_norm", rule.clip_norm, false);
  require(decays || rule.weight_decay == 0.0, "weight_decay is " +
                                                  std::to_string(rule.weight_decay) +
                                                  ", but the engine was made without `decays`");
  require(rule.learning_rate * rule.weight_decay < 1.0,
          "learning_rate x weight_decay is " +
              std::to_string(rule.learning_rate * rule.weight_decay) + "; it must be below 1");
}

// The caller's bags in the library's own form, with copies of ids and offsets.
Bags copy_bags(const BagGradients& gradients, const std::string& whose) {
  Bags bags;
  bags.ids.assign(gradients.ids.begin(), gradients.ids.end());
  bags.offsets.assign(gradients.offsets.begin(), gradients.offsets.end());
  if (bags.offsets.empty()) {
    bags.offsets.resize(bags.ids.size() + 1);
    for (std::size_t i = 0; i < bags.offsets.size(); ++i) bags.offsets[i] = i;
  }
  require(bags.offsets.front() == 0 && bags.offsets.back() == bags.ids.size() &&
              std::ranges::is_sorted(bags.offsets),
          "the offsets of " + whose + " must ascend from 0 to the number of ids, " +
              std::to_string(bags.ids.size()));
  return bags;
}

ConstMatrixView view_of(const BagGradients& gradients, std::size_t dim) {
  return {gradients.values.data(), gradients.bags(), dim, dim};
}

}  // namespace

struct NoiseEngine::State {
  State(std::span<const BorrowedTable> borrowed, const EngineOptions& options)
      : decays(options.decays),
        noise(seed_of(options), draws_of(options)),
        tables(borrow(borrowed)),
        updates(options.policy, tables, clock, noise, options.decays) {}

  bool decays;
  VarianceClock clock;
  NoiseSource noise;
  std::vector<Table> tables;
  TableUpdates updates;
  StageClock stages;
};

NoiseEngine::NoiseEngine(std::span<const BorrowedTable> tables, const EngineOptions& options)
    : state_(std::make_unique<State>(tables, options)) {}

NoiseEngine::~NoiseEngine() = default;

void NoiseEngine::settle(std::size_t table, std::span<const RowId> ids) {
  require(table < state_->tables.size(),
          name_of(table) + " is not there; there are " + std::to_string(state_->tables.size()));
  require_rows(table, ids, state_->tables[table].rows());
  std::vector<Ids> of_tables(state_->tables.size());
  of_tables[table] = ids;
  state_->updates.settle(steps(), of_tables, state_->stages);
}

Step NoiseEngine::step(const StepRule& rule, std::span<const BagGradients> gradients) {
  require_rule(rule, state_->decays);
  require(gradients.size() == state_->tables.size(),
          std::to_string(gradients.size()) +
              " gradients were given; there must be one for each of " +
              std::to_string(state_->tables.size()) + " tables");
  std::vector<Bags> bags;
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    const Table& table = state_->tables[k];
    require_rows(k, gradients[k].ids, table.rows());
    bags.push_back(copy_bags(gradients[k], name_of(k)));
    require(gradients[k].values.size() == bags[k].size() * table.dim(),
            "the gradient of " + name_of(k) + " has " + std::to_string(gradients[k].values.size()) +
                " values; it must have " + std::to_string(bags[k].size()) + " bags x " +
                std::to_string(table.dim()));
  }
  std::vector<Ids> ids;
  std::vector<TableGradient> factors;
  for (std::size_t k = 0; k < bags.size(); ++k) {
    ids.push_back(bags[k].ids);
    factors.push_back({&bags[k], Pooling::sum, view_of(gradients[k], state_->tables[k].dim())});
  }
  // Whoever settled these rows before reading them has nothing to wait for here.
  state_->updates.settle(steps(), ids, state_->stages);
  const Step t =
      state_->clock.open(rule.learning_rate / rule.expected_batch,
                         rule.noise_multiplier > 0.0 ? rule.noise_multiplier * rule.clip_norm : 0.0,
                         1.0 - rule.learning_rate * rule.weight_decay);
  state_->updates.apply(t, factors, state_->stages);
  return t;
}

void NoiseEngine::settle_all() {
  state_->updates.settle_all(steps());
}

bool NoiseEngine::all_settled() const {
  return state_->updates.all_settled(steps());
}

Step NoiseEngine::steps() const {
  return state_->clock.now();
}

void add_squared_norms(const BagGradients& gradients, std::span<float> squared) {
  const Bags bags = copy_bags(gradients, "a gradient");
  require(bags.size() == squared.size(), "there are " + std::to_string(bags.size()) + " bags and " +
                                             std::to_string(squared.size()) +
                                             " norms; each example has one of each");
  if (squared.empty()) return;
  require(gradients.values.size() % bags.size() == 0,
          "a gradient has " + std::to_string(gradients.values.size()) +
              " values, which is no multiple of its " + std::to_string(bags.size()) + " bags");
  const TableCall call{&bags, Pooling::sum,
                       view_of(gradients, gradients.values.size() / bags.size())};
  add_squared_table_norms(call, squared);
}

const char* library_version() {
  return version();
}

}  // namespace lazydp
