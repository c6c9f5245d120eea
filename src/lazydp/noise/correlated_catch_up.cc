// Catches up with correlated noise: draws again the cells that earlier steps have shown a row.

#include <algorithm>
#include <array>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/noise/catch_up.h"
#include "lazydp/random/noise_source.h"

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
  // A row gets all its draws at once, while it is in the first-level cache, if their cells share a
  // key. Other rows get first what is new to them, which shares a key, and then the cells that they
  // were shown before, in the order of their steps, so that few keys are needed.
  void for_each_draw(const OwedThrough& owed, std::span<const LateRow> late,
                     const Visit& visit) const override {
    DrawBuffer draws(visit);
    std::array<std::uint32_t, kRowsAtATime> several_keys;
    std::size_t count = 0;
    for (std::uint32_t place = 0; place < late.size(); ++place) {
      draw_new_cells(owed, late[place].after, place, draws);
      if (NoiseSource::mostly_share_a_key(late[place].after, owed.through())) {
        draw_earlier_cells(owed, late[place].after, place, draws);
      } else {
        several_keys[count++] = place;
      }
    }
    const auto places = std::span(several_keys).first(count);
    std::ranges::sort(places, {}, [&](std::uint32_t place) { return late[place].after; });
    for (const std::uint32_t place : places) {
      draw_earlier_cells(owed, late[place].after, place, draws);
    }
    draws.flush();
  }

 private:
  static void draw_new_cells(const OwedThrough& owed, Step after, std::uint32_t place,
                             DrawBuffer& draws) {
    const CellWeights& cells = owed.cells();
    const Step t = owed.through();
    const auto recent = [&](Step k) { return static_cast<float>(cells.of_recent(k)); };
    draws.push({place, CellKind::each_step, t, {owed.term_since(after).shrink, recent(t)}});
    if (cells.some_at_once(after)) {
      draws.push({place, CellKind::aggregated, t, {1.0f, cells.deviation_at_once(after)}});
    }
    for (Step k = std::max(cells.correlation().first_cell(t + 1), after + 1); k < t; ++k) {
      draws.push({place, CellKind::each_step, k, {1.0f, recent(k)}});
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
