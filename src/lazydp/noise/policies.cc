#include "lazydp/noise/policies.h"

#include <algorithm>
#include <array>

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

RowRange no_rows(Step /*t*/, RowId /*rows*/) {
  return {};
}

constexpr std::array kPolicies = {
    PolicyTraits{NoisePolicy::none, "none", "none", Missed::nothing, Missed::nothing, false,
                 no_rows},
    PolicyTraits{NoisePolicy::every_row, "every_row", "every row, every step", Missed::each_step,
                 Missed::nothing, true, no_rows},
    PolicyTraits{NoisePolicy::touched_rows, "touched_rows", "rows in use only", Missed::nothing,
                 Missed::this_step, false, no_rows},
    PolicyTraits{NoisePolicy::lazy_each_step, "lazy_each_step", "late, one draw a step",
                 Missed::each_step, Missed::nothing, false, no_rows},
    PolicyTraits{NoisePolicy::lazy_aggregated, "lazy", "late, one draw in all", Missed::aggregated,
                 Missed::nothing, false, no_rows},
};

}  // namespace

std::span<const PolicyTraits> policies() {
  return kPolicies;
}

const PolicyTraits& traits_of(NoisePolicy policy) {
  const auto found = std::ranges::find(kPolicies, policy, &PolicyTraits::policy);
  check(found != kPolicies.end(), "every policy has a row");
  return *found;
}

RowRange rows_in_turn(const PolicyTraits& policy, Step t, const Table& table) {
  const RowRange whole = policy.in_turn(t, table.whole_rows());
  const auto here = [&](RowId row) {
    return std::clamp<RowId>(row - table.first_row(), 0, table.rows());
  };
  const RowId first = here(whole.first);
  return {first, here(whole.first + whole.count) - first};
}

}  // namespace lazydp
