#include "lazydp/noise/noise_writer.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "lazydp/base/stages.h"
#include "lazydp/kernels/vector.h"

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
// before.
template <class Few>
void in_chunks(RowId first, RowId last, Few&& few) {
  std::array<LateRow, CatchUp::kRowsAtATime> rows;
  std::size_t count = 0;
  for (RowId row = first; row < last; ++row) {
    rows[count++] = {row, 0};
    if (count == rows.size() || row + 1 == last) {
      few(std::span<const LateRow>(rows).first(count));
      count = 0;
    }
  }
}

// Finds the cells of a table's draws. The cells of one draw often serve the next: deriving their
// key takes as long as the noise of some rows.
class CellsOf {
 public:
  CellsOf(const NoiseSource& noise, const Table& table) : noise_(noise), table_(table) {}

  const NoiseCells& operator()(const Draw& draw) {
    if (!known_ || draw.kind != kind_ || draw.step != step_) {
      cells_ = noise_.table(table_.id(), table_.whole_rows(), table_.dim(), draw.kind, draw.step);
      known_ = true;
      kind_ = draw.kind;
      step_ = draw.step;
    }
    return cells_;
  }

 private:
  const NoiseSource& noise_;
  const Table& table_;
  bool known_ = false;
  CellKind kind_ = CellKind::each_step;
  Step step_ = 0;
  NoiseCells cells_;
};

class Fused : public NoiseWriter {
 public:
  explicit Fused(const NoiseSource& noise) : noise_(noise) {}

  void settle(Table& table, const CatchUp& how, const OwedThrough& owed,
              std::span<const LateRow> late) override {
    CellsOf cells(noise_, table);
    in_chunks(late, [&](std::span<const LateRow> few) {
      how.for_each_draw(owed, few, [&](const Draw& draw) { add_draw(table, cells(draw), draw); });
    });
  }

  void sweep(Table& table, const OwedThrough& owed, RowId first, RowId last) override {
    CellsOf cells(noise_, table);
    std::array<NoiseTerm, CatchUp::kRowsAtATime> terms;
    terms.fill(to_term(owed.at(owed.through())));
    in_chunks(first, last, [&](std::span<const LateRow> few) {
      const Draw draw = {CellKind::each_step, owed.through(), few,
                         std::span(terms).first(few.size())};
      add_draw(table, cells(draw), draw);
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
    in_chunks(late, [&](std::span<const LateRow> few) {
      Passes passes(table, few.size(), spent_);
      how.for_each_draw(owed, few, [&](const Draw& draw) {
        passes.sample(noise_, draw);
        passes.form(draw);
      });
      passes.update();
    });
  }

  void sweep(Table& table, const OwedThrough& owed, RowId first, RowId last) override {
    std::array<NoiseTerm, CatchUp::kRowsAtATime> terms;
    terms.fill(to_term(owed.at(owed.through())));
    in_chunks(first, last, [&](std::span<const LateRow> few) {
      const Draw draw = {CellKind::each_step, owed.through(), few,
                         std::span(terms).first(few.size())};
      Passes passes(table, few.size(), spent_);
      passes.sample(noise_, draw);
      passes.form(draw);
      passes.update();
    });
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

  // Makes the three passes over a few rows of a table.
  class Passes {
   public:
    Passes(Table& table, std::size_t rows, Spent& spent)
        : table_(table), dim_(table.dim()), spent_(spent) {
      thread_local std::vector<float> buffers;
      buffers.assign(2 * rows * dim_, 0.0f);
      normals_ = std::span(buffers).first(rows * dim_);
      owed_ = std::span(buffers).subspan(rows * dim_);
    }

    // Computes normals = standard normals of the draw's cells.
    void sample(const NoiseSource& noise, const Draw& draw) {
      book(0);  // pricing: what rows are owed was computed from their histories
      std::array<NoisyRow, CatchUp::kRowsAtATime> rows;
      for (std::size_t i = 0; i < draw.rows.size(); ++i) {
        rows[i] = {normals_.data() + i * dim_,
                   static_cast<std::uint64_t>(table_.first_row() + draw.rows[i].id), 0.0f, 1.0f};
      }
      noise.table(table_.id(), table_.whole_rows(), dim_, draw.kind, draw.step)
          .add(std::span(rows).first(draw.rows.size()), dim_);
      book(1);
    }

    // Computes owed = shrink * owed + std * normals.
    void form(const Draw& draw) {
      for (std::size_t i = 0; i < draw.rows.size(); ++i) {
        ids_[i] = draw.rows[i].id;
        const NoiseTerm& term = draw.terms[i];
        shrink_[i] *= term.shrink;
        const std::span<float> row = owed_.subspan(i * dim_, dim_);
        if (term.shrink != 1.0f) scale(term.shrink, row);
        add_scaled(term.std, normals_.subspan(i * dim_, dim_), row);
      }
      count_ = std::max(count_, draw.rows.size());
      book(2);
    }

    // Computes rows = shrink * rows + owed.
    void update() {
      for (std::size_t i = 0; i < count_; ++i) {
        const std::span<float> row = table_.row(ids_[i]);
        if (shrink_[i] != 1.0) scale(static_cast<float>(shrink_[i]), row);
        add_scaled(1.0f, owed_.subspan(i * dim_, dim_), row);
      }
      book(3);
    }

   private:
    void book(std::size_t pass) { spent_[pass] += watch_.lap(); }

    Table& table_;
    std::size_t dim_;
    Spent& spent_;
    Stopwatch watch_;
    std::span<float> normals_;
    std::span<float> owed_;
    std::array<RowId, CatchUp::kRowsAtATime> ids_;
    std::array<double, CatchUp::kRowsAtATime> shrink_ = ones();
    std::size_t count_ = 0;

    static std::array<double, CatchUp::kRowsAtATime> ones() {
      std::array<double, CatchUp::kRowsAtATime> all;
      all.fill(1.0);
      return all;
    }
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
