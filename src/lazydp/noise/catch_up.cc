#include "lazydp/noise/catch_up.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "lazydp/base/error.h"
#include "lazydp/kernels/vector.h"

namespace lazydp {
namespace {

using Visit = std::function<void(const Draw&)>;
using NoiseTerms = std::array<NoiseTerm, CatchUp::kRowsAtATime>;

class Aggregated : public CatchUp {
 public:
  using CatchUp::CatchUp;
  void for_each_draw(const OwedThrough& owed, std::span<const LateRow> late,
                     const Visit& visit) const override {
    NoiseTerms terms;
    std::ranges::transform(late, terms.begin(),
                           [&](const LateRow& row) { return owed.term_since(row.after); });
    visit({CellKind::aggregated, owed.through(), late, std::span(terms).first(late.size())});
  }
};

class EachStep : public CatchUp {
 public:
  using CatchUp::CatchUp;
  // Sorts the most delayed rows first: the rows that a step concerns are then a prefix that grows.
  void for_each_draw(const OwedThrough& owed, std::span<const LateRow> late,
                     const Visit& visit) const override {
    std::array<LateRow, kRowsAtATime> order;
    std::ranges::copy(late, order.begin());
    const auto rows = std::span(order).first(late.size());
    std::ranges::sort(rows, {}, &LateRow::after);
    NoiseTerms terms;
    std::size_t count = 0;
    for (Step s = rows.front().after + 1; s <= owed.through(); ++s) {
      while (count < rows.size() && rows[count].after < s) ++count;
      std::ranges::fill(std::span(terms).first(count), to_term(owed.at(s)));
      visit({CellKind::each_step, s, rows.first(count), std::span(terms).first(count)});
    }
  }
};

class DecayOnly : public CatchUp {
 public:
  using CatchUp::CatchUp;
  void for_each_draw(const OwedThrough& owed, std::span<const LateRow> late,
                     const Visit& visit) const override {
    NoiseTerms terms;
    std::ranges::transform(late, terms.begin(), [&](const LateRow& row) {
      return NoiseTerm{owed.term_since(row.after).shrink, 0.0f};
    });
    visit({CellKind::each_step, owed.through(), late, std::span(terms).first(late.size())});
  }
};

class ThisStepOnly : public CatchUp {
 public:
  using CatchUp::CatchUp;
  // Like the gradient, the noise will still be shrunk by this step's decay, and should not be: it
  // is divided by that shrink beforehand.
  void for_each_draw(const OwedThrough& owed, std::span<const LateRow> late,
                     const Visit& visit) const override {
    const Owed& step = owed.at(owed.through());
    NoiseTerms terms;
    terms.fill(to_term({1.0, step.variance / (step.shrink * step.shrink)}));
    visit({CellKind::each_step, owed.through(), late, std::span(terms).first(late.size())});
  }
};

}  // namespace

void add_draw(Table& table, const NoiseCells& cells, const Draw& draw) {
  check(draw.rows.size() <= CatchUp::kRowsAtATime, "few rows at a time");
  std::array<NoisyRow, CatchUp::kRowsAtATime> rows;
  std::size_t count = 0;
  for (std::size_t i = 0; i < draw.rows.size(); ++i) {
    const NoiseTerm& term = draw.terms[i];
    const std::span<float> values = table.row(draw.rows[i].id);
    if (term.std > 0.0f) {
      rows[count++] = {values.data(),
                       static_cast<std::uint64_t>(table.first_row() + draw.rows[i].id), term.shrink,
                       term.std};
    } else if (term.shrink != 1.0f) {
      scale(term.shrink, values);
    }
  }
  cells.add(std::span(rows).first(count), table.dim());
}

std::unique_ptr<CatchUp> make_catch_up(Missed missed, RowId rows) {
  switch (missed) {
    case Missed::nothing: return std::make_unique<DecayOnly>(rows);
    case Missed::this_step: return std::make_unique<ThisStepOnly>(rows);
    case Missed::each_step: return std::make_unique<EachStep>(rows);
    case Missed::aggregated: return std::make_unique<Aggregated>(rows);
  }
  throw InternalError("unknown Missed");
}

}  // namespace lazydp
