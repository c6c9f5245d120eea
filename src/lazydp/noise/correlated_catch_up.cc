// Catches up with correlated noise: draws again the cells that earlier steps have shown a row.

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/noise/catch_up.h"

namespace lazydp {
namespace {

using Weights = std::array<double, Correlation::kMostBands>;

// Hands draws on when there are enough of them.
class DrawBuffer {
 public:
  explicit DrawBuffer(const CatchUp::Visit& visit) : visit_(visit) {}

  void push(const Draw& draw) {
    draws_[count_] = draw;
    if (++count_ == draws_.size()) flush();
  }
  void flush() {
    if (count_ > 0) visit_(std::span(draws_).first(count_));
    count_ = 0;
  }

 private:
  const CatchUp::Visit& visit_;
  std::array<Draw, CatchUp::kDrawsAtATime> draws_;
  std::size_t count_ = 0;
};

// The first draw of a row shrinks it.
class Shrink {
 public:
  explicit Shrink(float shrink) : shrink_(shrink) {}
  NoiseTerm with(double weight) {
    return {std::exchange(shrink_, 1.0f), static_cast<float>(weight)};
  }

 private:
  float shrink_;
};

class EachCell : public CatchUp {
 public:
  void for_each_draw(const OwedThrough& owed, std::span<const LateRow> late,
                     const Visit& visit) const override {
    const CellWeights& cells = owed.cells();
    const Step t = owed.through();
    DrawBuffer draws(visit);
    Weights weights;
    for (std::uint32_t place = 0; place < late.size(); ++place) {
      const Step after = late[place].after;
      Shrink shrink(owed.term_since(after).shrink);
      Step first = cells.correlation().first_cell(after + 1);
      while (first <= t) {
        const Step last = t - first < weights.size() ? t : first + Step{weights.size() - 1};
        cells.of_cells(after, first, last, weights);
        for (Step k = first; k <= last; ++k) {
          draws.push({place, CellKind::each_step, k, shrink.with(weights[k - first])});
        }
        first = last + 1;
      }
    }
    draws.flush();
  }
};

class SomeCellsAtOnce : public CatchUp {
 public:
  // First the cells that do not depend on when a row was settled before, which share a key, for a
  // few rows at a time that stay in the first-level cache; then the others, in the order of their
  // steps, so that few keys are needed.
  void for_each_draw(const OwedThrough& owed, std::span<const LateRow> late,
                     const Visit& visit) const override {
    DrawBuffer draws(visit);
    for (std::size_t first = 0; first < late.size(); first += kFew) {
      draw_new_cells(owed, late, first, std::min(first + kFew, late.size()), draws);
    }
    std::array<std::uint32_t, kRowsAtATime> order;
    const auto places = std::span(order).first(late.size());
    std::iota(places.begin(), places.end(), 0);
    std::ranges::sort(places, {}, [&](std::uint32_t place) { return late[place].after; });
    for (const std::uint32_t place : places) {
      draw_earlier_cells(owed, late[place].after, place, draws);
    }
    draws.flush();
  }

 private:
  static constexpr std::size_t kFew = 64;  // rows

  static void draw_new_cells(const OwedThrough& owed, std::span<const LateRow> late,
                             std::size_t begin, std::size_t end, DrawBuffer& draws) {
    const CellWeights& cells = owed.cells();
    const Step t = owed.through();
    // The cell of step t is new to every row; that draw shrinks it.
    for (std::size_t i = begin; i < end; ++i) {
      const float shrink = owed.term_since(late[i].after).shrink;
      draws.push({static_cast<std::uint32_t>(i),
                  CellKind::each_step,
                  t,
                  {shrink, static_cast<float>(cells.of_recent(t))}});
    }
    for (std::size_t i = begin; i < end; ++i) {
      if (!cells.some_at_once(late[i].after)) continue;
      draws.push({static_cast<std::uint32_t>(i),
                  CellKind::aggregated,
                  t,
                  {1.0f, cells.deviation_at_once(late[i].after)}});
    }
    for (Step k = cells.correlation().first_cell(t + 1); k < t; ++k) {
      const auto weight = static_cast<float>(cells.of_recent(k));
      for (std::size_t i = begin; i < end; ++i) {
        if (late[i].after >= k) continue;
        draws.push({static_cast<std::uint32_t>(i), CellKind::each_step, k, {1.0f, weight}});
      }
    }
  }

  static void draw_earlier_cells(const OwedThrough& owed, Step after, std::uint32_t place,
                                 DrawBuffer& draws) {
    const CellWeights& cells = owed.cells();
    Weights weights;
    const Step first = cells.correlation().first_cell(after + 1);
    if (first > after) return;
    cells.of_cells(after, first, after, weights);
    for (Step k = first; k <= after; ++k) {
      draws.push({place, CellKind::each_step, k, {1.0f, static_cast<float>(weights[k - first])}});
    }
  }
};

}  // namespace

std::unique_ptr<CatchUp> make_correlated_catch_up(Missed missed) {
  switch (missed) {
    case Missed::each_step: return std::make_unique<EachCell>();
    case Missed::aggregated: return std::make_unique<SomeCellsAtOnce>();
    case Missed::nothing:
    case Missed::this_step: break;
  }
  throw InternalError("correlated noise is owed whole");
}

}  // namespace lazydp
