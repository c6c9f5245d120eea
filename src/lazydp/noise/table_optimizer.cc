#include "lazydp/noise/table_optimizer.h"

#include <algorithm>
#include <utility>

#include "lazydp/noise/momentum_tables.h"
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
  return rule == TableRule::momentum ? "momentum" : "sgd";
}

std::unique_ptr<StepClock> make_clock(const TableOptimizerOptions& options) {
  if (options.rule == TableRule::sgd) return std::make_unique<VarianceClock>(options.correlation);
  check(options.correlation.independent(), "noise under momentum is independent");
  return std::make_unique<MomentumClock>();
}

ClockedTables make_table_optimizer(const TableOptimizerOptions& options, std::span<Table> tables,
                                   const NoiseSource& noise) {
  auto clock = make_clock(options);
  if (options.rule == TableRule::momentum) {
    auto optimizer = std::make_unique<MomentumTables>(
        options.policy, tables, dynamic_cast<const MomentumClock&>(*clock), noise);
    return {std::move(clock), std::move(optimizer)};
  }
  auto optimizer =
      std::make_unique<SgdTables>(options.policy, tables, dynamic_cast<const VarianceClock&>(*clock),
                                  noise, options.decay, options.passes);
  return {std::move(clock), std::move(optimizer)};
}

}  // namespace lazydp
