#include "lazydp/noise/catch_up.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

using Draws = std::array<Draw, CatchUp::kRowsAtATime>;
using Places = std::array<std::uint32_t, CatchUp::kRowsAtATime>;
static_assert(CatchUp::kRowsAtATime <= CatchUp::kDrawsAtATime, "one draw for each row");

class Aggregated : public CatchUp {
 public:
  void for_each_draw(const OwedThrough& owed, std::span<const LateRow> late,
                     const Visit& visit) const override {
    Draws draws;
    for (std::uint32_t i = 0; i < late.size(); ++i) {
      draws[i] = {i, CellKind::aggregated, owed.through(), owed.term_since(late[i].after)};
    }
    visit(std::span(draws).first(late.size()));
  }
};

class EachStep : public CatchUp {
 public:
  // Sorts the most delayed rows first: the rows that a step concerns are then a prefix that grows.
  void for_each_draw(const OwedThrough& owed, std::span<const LateRow> late,
                     const Visit& visit) const override {
    if (late.empty()) return;
    Places order;
    const auto places = std::span(order).first(late.size());
    std::iota(places.begin(), places.end(), 0);
    const auto after = [&](std::uint32_t place) { return late[place].after; };
    if (!std::ranges::is_sorted(places, {}, after)) std::ranges::sort(places, {}, after);
    Draws draws;
    std::size_t count = 0;
    const Step first = std::ranges::min(late, {}, &LateRow::after).after + 1;
    for (Step s = first; s <= owed.through(); ++s) {
      while (count < places.size() && after(places[count]) < s) ++count;
      const NoiseTerm term = to_term(owed.at(s));
      for (std::size_t i = 0; i < count; ++i) draws[i] = {places[i], CellKind::each_step, s, term};
      visit(std::span(draws).first(count));
    }
  }
};

class DecayOnly : public CatchUp {
 public:
  void for_each_draw(const OwedThrough& owed, std::span<const LateRow> late,
                     const Visit& visit) const override {
    Draws draws;
    for (std::uint32_t i = 0; i < late.size(); ++i) {
      const NoiseTerm shrink = {owed.term_since(late[i].after).shrink, 0.0f};
      draws[i] = {i, CellKind::each_step, owed.through(), shrink};
    }
    visit(std::span(draws).first(late.size()));
  }
};

class ThisStepOnly : public CatchUp {
 public:
  // Like the gradient, the noise will still be shrunk by this step's decay, and should not be: it
  // is divided by that shrink beforehand.
  void for_each_draw(const OwedThrough& owed, std::span<const LateRow> late,
                     const Visit& visit) const override {
    const Owed& step = owed.at(owed.through());
    const NoiseTerm term = to_term({1.0, step.variance / (step.shrink * step.shrink)});
    Draws draws;
    for (std::uint32_t i = 0; i < late.size(); ++i) {
      draws[i] = {i, CellKind::each_step, owed.through(), term};
    }
    visit(std::span(draws).first(late.size()));
  }
};

}  // namespace

std::unique_ptr<CatchUp> make_catch_up(Missed missed, const Correlation& correlation) {
  if (!correlation.independent()) return make_correlated_catch_up(missed);
  switch (missed) {
    case Missed::nothing: return std::make_unique<DecayOnly>();
    case Missed::this_step: return std::make_unique<ThisStepOnly>();
    case Missed::each_step: return std::make_unique<EachStep>();
    case Missed::aggregated: return std::make_unique<Aggregated>();
  }
  throw InternalError("unknown Missed");
}

}  // namespace lazydp
