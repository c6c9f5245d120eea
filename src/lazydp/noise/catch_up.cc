#include "lazydp/noise/catch_up.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "lazydp/base/error.h"
#include "lazydp/kernels/vector.h"

namespace lazydp {
namespace {

constexpr std::size_t kRows = 256;  // at a time: 128 KB of rows of 128 floats

class NoisyCatchUp : public CatchUp {
 public:
  NoisyCatchUp(Table& table, const NoiseSource& noise) : CatchUp(table), noise_(noise) {}

  void pay(const Debts& debts, std::span<const LateRow> late) override {
    for (std::size_t i = 0; i < late.size(); i += kRows) {
      pay_few(debts, late.subspan(i, std::min(kRows, late.size() - i)));
    }
  }

 protected:
  virtual void pay_few(const Debts& debts, std::span<const LateRow> late) = 0;

  // late[i] <- shrink * late[i] + std * noise of step t, with (shrink, std) = owed(i).
  template <class OwedOf>
  void add(Draws draws, Step t, std::span<const LateRow> late, OwedOf&& owed_of) const {
    std::array<NoisyRow, kRows> rows;
    std::size_t count = 0;
    for (const LateRow& row : late) {
      const Owed owed = owed_of(row);
      if (owed.nothing()) continue;
      rows[count++] = {table_.row(row.id).data(), static_cast<std::uint64_t>(row.id),
                       static_cast<float>(owed.shrink),
                       static_cast<float>(std::sqrt(owed.variance))};
    }
    noise_.table(table_.id(), table_.rows(), table_.dim(), draws, t)
        .add(std::span(rows).first(count), table_.dim());
  }

 private:
  const NoiseSource& noise_;
};

class Aggregated : public NoisyCatchUp {
 public:
  using NoisyCatchUp::NoisyCatchUp;

 private:
  void pay_few(const Debts& debts, std::span<const LateRow> late) override {
    add(Draws::aggregated, debts.through(), late,
        [&](const LateRow& row) { return debts.since(row.after); });
  }
};

class EachStep : public NoisyCatchUp {
 public:
  using NoisyCatchUp::NoisyCatchUp;

 private:
  // With the most delayed rows first, those that a step concerns are a prefix that grows.
  void pay_few(const Debts& debts, std::span<const LateRow> late) override {
    std::array<LateRow, kRows> order;
    std::ranges::copy(late, order.begin());
    const auto rows = std::span(order).first(late.size());
    std::ranges::sort(rows, {}, &LateRow::after);
    std::size_t count = 0;
    for (Step s = rows.front().after + 1; s <= debts.through(); ++s) {
      while (count < rows.size() && rows[count].after < s) ++count;
      add(Draws::each_step, s, rows.first(count), [&](const LateRow&) { return debts.at(s); });
    }
  }
};

class ThisStepOnly : public NoisyCatchUp {
 public:
  using NoisyCatchUp::NoisyCatchUp;

 private:
  // Like the gradient, the noise is yet to be shrunk by this step's decay, and should not be.
  void pay_few(const Debts& debts, std::span<const LateRow> late) override {
    const Owed& step = debts.at(debts.through());
    const Owed due = {1.0, step.variance / (step.shrink * step.shrink)};
    add(Draws::each_step, debts.through(), late, [&](const LateRow&) { return due; });
  }
};

class DecayOnly : public CatchUp {
 public:
  using CatchUp::CatchUp;

  void pay(const Debts& debts, std::span<const LateRow> late) override {
    for (const LateRow& row : late) {
      scale(static_cast<float>(debts.since(row.after).shrink), table_.row(row.id));
    }
  }
};

}  // namespace

std::unique_ptr<CatchUp> make_aggregated(Table& table, const NoiseSource& noise) {
  return std::make_unique<Aggregated>(table, noise);
}
std::unique_ptr<CatchUp> make_each_step(Table& table, const NoiseSource& noise) {
  return std::make_unique<EachStep>(table, noise);
}
std::unique_ptr<CatchUp> make_decay_only(Table& table) {
  return std::make_unique<DecayOnly>(table);
}
std::unique_ptr<CatchUp> make_this_step_only(Table& table, const NoiseSource& noise) {
  return std::make_unique<ThisStepOnly>(table, noise);
}

}  // namespace lazydp
