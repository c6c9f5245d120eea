#include "lazydp/noise/table_optimizer.h"

#include <algorithm>
#include <utility>

#include "lazydp/noise/adaptive_tables.h"
#include "lazydp/noise/momentum_tables.h"
#include "lazydp/noise/partly_frozen_tables.h"
#include "lazydp/noise/sgd_tables.h"

namespace lazydp {

bool TableOptimizer::all_settled(Step t) {
  for (std::size_t k = 0; k < tables_.size(); ++k) {
    const auto behind = [t](Step settled) { return settled != t; };
    if (std::ranges::any_of(settled_through(k), behind)) return false;
  }
  return true;
}

std::string_view table_rule_name(TableRule rule) {
  return std::ranges::find(kTableRules, rule, [](const auto& named) { return named.second; })
      ->first;
}

std::size_t state_floats(TableRule rule) {
  switch (rule) {
    case TableRule::sgd: return 0;
    case TableRule::momentum:
    case TableRule::adagrad: return 1;
    case TableRule::adam: return 2;
  }
  throw InternalError("unknown TableRule");
}

std::unique_ptr<StepClock> make_clock(const TableOptimizerOptions& options) {
  if (options.rule == TableRule::sgd) return std::make_unique<VarianceClock>(options.correlation);
  check(options.correlation.independent(), "noise is correlated under plain SGD alone");
  if (!linear(options.rule)) return std::make_unique<RateClock>();
  return std::make_unique<MomentumClock>();
}

namespace {

ClockedTables make_partly_frozen(TableOptimizerOptions options, std::span<Table> tables,
                                 const NoiseSource& noise) {
  const auto frozen = std::exchange(options.frozen, {});
  std::vector<Table> trained = trained_tables(tables, frozen);
  ClockedTables made = make_table_optimizer(options, trained, noise);
  made.optimizer = std::make_unique<PartlyFrozenTables>(tables, frozen, std::move(trained),
                                                        std::move(made.optimizer));
  return made;
}

}  // namespace

ClockedTables make_table_optimizer(const TableOptimizerOptions& options, std::span<Table> tables,
                                   const NoiseSource& noise) {
  if (!options.frozen.empty()) return make_partly_frozen(options, tables, noise);
  auto clock = make_clock(options);
  if (!linear(options.rule)) {
    check(options.policy == NoisePolicy::none && options.decay == WeightDecay::off,
          "rules that are not linear have neither noise nor decay");
    auto optimizer = std::make_unique<AdaptiveTables>(options.rule, tables,
                                                      dynamic_cast<const RateClock&>(*clock));
    return {std::move(clock), std::move(optimizer)};
  }
  if (options.rule == TableRule::momentum) {
    auto optimizer = std::make_unique<MomentumTables>(
        options.policy, tables, dynamic_cast<const MomentumClock&>(*clock), noise);
    return {std::move(clock), std::move(optimizer)};
  }
  auto optimizer = std::make_unique<SgdTables>(options.policy, tables,
                                               dynamic_cast<const VarianceClock&>(*clock), noise,
                                               options.decay, options.passes);
  return {std::move(clock), std::move(optimizer)};
}

}  // namespace lazydp
