#pragma once
// How a late row receives what it missed: the four ways, one small class each.

#include <memory>
#include <span>

#include "lazydp/embedding/table.h"
#include "lazydp/noise/clock.h"
#include "lazydp/noise/late_rows.h"
#include "lazydp/random/noise_source.h"

namespace lazydp {

class CatchUp {
 public:
  explicit CatchUp(Table& table) : table_(table), history_(table.rows()) {}
  virtual ~CatchUp() = default;

  History& history() { return history_; }

  // Brings rows that were just claimed for step t = debts.through() up to date.
  virtual void pay(const Debts& debts, std::span<const LateRow> late) = 0;

 protected:
  Table& table_;

 private:
  History history_;
};

// One Gaussian with the variance of all that was missed: aggregated noise sampling.
std::unique_ptr<CatchUp> make_aggregated(Table& table, const NoiseSource& noise);

// The very noises that eager DP-SGD would have added, one by one and in their order.
std::unique_ptr<CatchUp> make_each_step(Table& table, const NoiseSource& noise);

// Weight decay alone: there is no noise.
std::unique_ptr<CatchUp> make_decay_only(Table& table);

// The noise of step t alone, for rows that have just received a gradient; what they missed before
// is never made up for. EANA (Ning et al. 2022); no privacy is claimed for it.
std::unique_ptr<CatchUp> make_this_step_only(Table& table, const NoiseSource& noise);

}  // namespace lazydp
