#include "lazydp/noise/noise_writer.h"

#include <algorithm>
#include <array>
#include <vector>

#include "lazydp/base/stages.h"
#include "lazydp/kernels/vector.h"
#include "lazydp/noise/draw_adder.h"

namespace lazydp {
namespace {

// Calls few(rows) with at most CatchUp::kRowsAtATime rows at a time.
template <class Few>
void in_chunks(std::span<const LateRow> late, Few&& few) {
  for (std::size_t i = 0; i < late.size(); i += CatchUp::kRowsAtATime) {
    few(late.subspan(i, std::min(CatchUp::kRowsAtATime, late.size() - i)));
  }
}

// Calls few(rows) with the rows [first, last) of an eager table, all settled through the step
// before t.
template <class Few>
void in_chunks(Step t, RowId first, RowId last, Few&& few) {
  std::array<LateRow, CatchUp::kRowsAtATime> rows;
  std::size_t count = 0;
  for (RowId row = first; row < last; ++row) {
    rows[count++] = {row, t - 1};
    if (count == rows.size() || row + 1 == last) {
      few(std::span<const LateRow>(rows).first(count));
      count = 0;
    }
  }
}

class Fused : public NoiseWriter {
 public:
  explicit Fused(const NoiseSource& noise) : noise_(noise) {}

  void settle(Table& table, const CatchUp& how, const OwedThrough& owed,
              std::span<const LateRow> late) override {
    DrawAdder adder(noise_, table);
    in_chunks(late, [&](std::span<const LateRow> few) {
      how.for_each_draw(owed, few, [&](std::span<const Draw> draws) { adder.add(few, draws); });
    });
  }

  void sweep(Table& table, const CatchUp& how, const OwedThrough& owed, RowId first,
             RowId last) override {
    DrawAdder adder(noise_, table);
    in_chunks(owed.through(), first, last, [&](std::span<const LateRow> few) {
      how.for_each_draw(owed, few, [&](std::span<const Draw> draws) { adder.add(few, draws); });
    });
  }

  void lap(StageClock& stages) override { stages.lap(Stage::settle); }

 private:
  const NoiseSource& noise_;
};

// Settles in three passes with the same arithmetic: draws standard normals into a buffer; scales
// them and adds them up to what each row is owed; adds that to the table. Each task clocks its
// passes, and the wall time of the loop is split in the proportion of the tasks' sums.
class Split : public NoiseWriter {
 public:
  explicit Split(const NoiseSource& noise) : noise_(noise) {}

  void settle(Table& table, const CatchUp& how, const OwedThrough& owed,
              std::span<const LateRow> late) override {
    in_chunks(late, [&](std::span<const LateRow> few) { in_passes(table, how, owed, few); });
  }

  void sweep(Table& table, const CatchUp& how, const OwedThrough& owed, RowId first,
             RowId last) override {
    in_chunks(owed.through(), first, last,
              [&](std::span<const LateRow> few) { in_passes(table, how, owed, few); });
  }

  void lap(StageClock& stages) override {
    constexpr std::array kStages = {Stage::history, Stage::noise_sampling, Stage::noisy_gradient,
                                    Stage::noise_update};
    std::array<double, kStages.size()> parts;
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = spent_[i].exchange(0.0);
    stages.lap_in_proportion(kStages, parts);
  }

 private:
  using Spent = std::array<std::atomic<double>, 4>;

  void in_passes(Table& table, const CatchUp& how, const OwedThrough& owed,
                 std::span<const LateRow> few) {
    Passes passes(noise_, table, few, spent_);
    how.for_each_draw(owed, few, [&](std::span<const Draw> draws) {
      passes.sample(draws);
      passes.form(draws);
    });
    passes.update();
  }

  // Makes the three passes over a few rows of a table.
  class Passes {
   public:
    Passes(const NoiseSource& noise, Table& table, std::span<const LateRow> rows, Spent& spent)
        : adder_(noise, table), table_(table), rows_(rows), dim_(table.dim()), spent_(spent) {
      thread_local std::vector<float> buffers;
      buffers.assign((rows.size() + CatchUp::kDrawsAtATime) * dim_, 0.0f);
      owed_ = std::span(buffers).first(rows.size() * dim_);
      normals_ = std::span(buffers).subspan(rows.size() * dim_);
      std::ranges::fill(shrink_, 1.0);
    }

    // Computes normals = standard normals of the draws' cells.
    void sample(std::span<const Draw> draws) {
      book(0);  // pricing: what rows are owed was computed from their histories
      adder_.sample(rows_, draws, normals_);
      book(1);
    }

    // Computes owed = shrink * owed + std * normals.
    void form(std::span<const Draw> draws) {
      for (std::size_t i = 0; i < draws.size(); ++i) {
        const auto& [place, kind, step, term] = draws[i];
        shrink_[place] *= term.shrink;
        const std::span<float> row = owed_.subspan(place * dim_, dim_);
        if (term.shrink != 1.0f) scale(term.shrink, row);
        add_scaled(term.std, normals_.subspan(i * dim_, dim_), row);
      }
      book(2);
    }

    // Computes rows = shrink * rows + owed.
    void update() {
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        const std::span<float> row = table_.row(rows_[i].id);
        if (shrink_[i] != 1.0) scale(static_cast<float>(shrink_[i]), row);
        add_scaled(1.0f, owed_.subspan(i * dim_, dim_), row);
      }
      book(3);
    }

   private:
    void book(std::size_t pass) { spent_[pass] += watch_.lap(); }

    DrawAdder adder_;
    Table& table_;
    std::span<const LateRow> rows_;
    std::size_t dim_;
    Spent& spent_;
    Stopwatch watch_;
    std::span<float> normals_;
    std::span<float> owed_;
    std::array<double, CatchUp::kRowsAtATime> shrink_;
  };

  const NoiseSource& noise_;
  Spent spent_{};
};

}  // namespace

std::unique_ptr<NoiseWriter> make_noise_writer(NoisePasses passes, const NoiseSource& noise) {
  if (passes == NoisePasses::split) return std::make_unique<Split>(noise);
  return std::make_unique<Fused>(noise);
}

}  // namespace lazydp
