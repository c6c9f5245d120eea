#include "lazydp/engine/noise_engine.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/version.h"
#include "lazydp/clip/table_norms.h"
#include "lazydp/engine/table_group.h"
#include "lazydp/random/seed.h"

namespace lazydp {
namespace {

void require(bool ok, const std::string& complaint) {
  if (!ok) throw UserError(complaint);
}

std::string name_of(std::size_t table) {
  return "table " + std::to_string(table);
}

// Adds the caller's tables; each is numbered by its place.
void add_tables(std::span<const BorrowedTable> tables, TableGroup& group) {
  constexpr std::size_t kMostTables = std::size_t{1} << 16;
  require(tables.size() <= kMostTables,
          std::to_string(tables.size()) + " tables were given; an engine takes at most 65536");
  for (std::size_t k = 0; k < tables.size(); ++k) {
    const auto& [weights, dim] = tables[k];
    require(dim > 0 && dim <= kMaxDim, name_of(k) + " has rows of " + std::to_string(dim) +
                                           " floats; 1 to " + std::to_string(kMaxDim) +
                                           " are allowed");
    require(!weights.empty() && weights.size() % dim == 0,
            name_of(k) + " has " + std::to_string(weights.size()) + " floats; it must be rows of " +
                std::to_string(dim) + ", at least one");
    group.add({.id = static_cast<TableId>(k),
               .weights = weights,
               .momentum = {},
               .dim = dim,
               .padding = {}});
  }
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

// Converts the caller's bags to the library's form, with copies of ids and offsets.
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
        group(NoiseSource(seed_of(options), draws_of(options)),
              {.policy = options.policy,
               .decay = options.decays ? WeightDecay::on : WeightDecay::off}) {
    add_tables(borrowed, group);
  }

  bool decays;
  TableGroup group;
};

NoiseEngine::NoiseEngine(std::span<const BorrowedTable> tables, const EngineOptions& options)
    : state_(std::make_unique<State>(tables, options)) {}

NoiseEngine::~NoiseEngine() = default;

void NoiseEngine::settle(std::size_t table, std::span<const RowId> ids) {
  TableGroup& group = state_->group;
  require(table < group.size(),
          name_of(table) + " is not there; there are " + std::to_string(group.size()));
  require_rows(table, ids, group.rows(table));
  group.settle(table, ids);
}

Step NoiseEngine::step(const StepRule& rule, std::span<const BagGradients> gradients) {
  TableGroup& group = state_->group;
  require_rule(rule, state_->decays);
  require(gradients.size() == group.size(),
          std::to_string(gradients.size()) +
              " gradients were given; there must be one for each of " +
              std::to_string(group.size()) + " tables");
  std::vector<Bags> bags;
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    require_rows(k, gradients[k].ids, group.rows(k));
    bags.push_back(copy_bags(gradients[k], name_of(k)));
    require(gradients[k].values.size() == bags[k].size() * group.dim(k),
            "the gradient of " + name_of(k) + " has " + std::to_string(gradients[k].values.size()) +
                " values; it must have " + std::to_string(bags[k].size()) + " bags x " +
                std::to_string(group.dim(k)));
  }
  // Rows that the caller settled before reading them are found settled here.
  for (std::size_t k = 0; k < bags.size(); ++k) group.settle(k, bags[k].ids);
  const Step t = group.open(
      {.learning_rate = rule.learning_rate,
       .weight_decay = rule.weight_decay,
       .divisor = rule.expected_batch,
       .noise_std = rule.noise_multiplier > 0.0 ? rule.noise_multiplier * rule.clip_norm : 0.0});
  for (std::size_t k = 0; k < bags.size(); ++k) {
    group.apply(k, {&bags[k], Pooling::sum, view_of(gradients[k], group.dim(k))});
  }
  return t;
}

void NoiseEngine::settle_all() {
  state_->group.settle_all();
}

bool NoiseEngine::all_settled() const {
  return state_->group.all_settled();
}

Step NoiseEngine::steps() const {
  return state_->group.now();
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
