#include "lazydp/noise/cell_weights.h"

#include <algorithm>
#include <cmath>

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

double deviation(const Owed& step) {
  return std::sqrt(step.variance);
}

}  // namespace

Owed last_use(const Correlation& correlation, const StepRanges<Owed>& steps) {
  const std::span<const double> bands = correlation.bands();
  const Step t = steps.now();
  if (t < correlation.before_block() + bands.size()) return {steps.at(t).shrink, 0.0};
  double weight = 0.0;
  const Step cell = t + 1 - static_cast<Step>(bands.size());
  for (std::size_t j = 0; j < bands.size(); ++j) {
    const Owed& step = steps.at(cell + static_cast<Step>(j));
    weight = step.shrink * weight + deviation(step) * bands[j];
  }
  return {steps.at(t).shrink, weight * weight};
}

CellWeights::CellWeights(const Correlation& correlation, const RangesEndingAt<Owed>& steps,
                         const StepRanges<Owed>& last_uses)
    : correlation_(correlation), steps_(steps), last_uses_(last_uses, steps.through()) {
  const Step t = steps_.through();
  const std::span<const Owed> since = steps_.recent();
  for (std::size_t place = 0; place < since.size(); ++place) {
    const std::size_t before = since.size() - 1 - place;  // the step lies so far before t
    recent_moves_[place] =
        before > t ? 0.0
                   : deviation(steps_.at(t - static_cast<Step>(before))) * since[place].shrink;
  }
  const auto cells = std::min<std::size_t>(bands().size(), t);
  for (std::size_t k = 0; k < cells; ++k) {
    double weight = 0.0;
    for (std::size_t j = 0; j <= k; ++j) {
      weight += recent_moves_[since.size() - 1 - (k - j)] * bands()[j];
    }
    recent_[k] = weight;
  }
}

// Writes to moves[i - first] by how much one unit of step i's noise moves a weight until t.
void CellWeights::moves_of(Step first, Step last, Moves& moves) const {
  check(last - first < moves.size(), "the steps of a few cells");
  if (steps_.is_recent(first)) {
    std::copy_n(&recent_moves_[steps_.recent_place(first)], last - first + 1, moves.begin());
    return;
  }
  double shrink = steps_.since(last).shrink;
  for (Step i = last;; --i) {
    moves[i - first] = deviation(steps_.at(i)) * shrink;
    if (i == first) return;
    shrink *= steps_.at(i).shrink;
  }
}

void CellWeights::of_cells(Step after, Step first, Step last, std::span<double> out) const {
  const std::span<const double> bands = correlation_.bands();
  const auto more = static_cast<Step>(bands.size() - 1);
  const Step t = steps_.through();
  const Step from = std::max(first, after + 1);
  const Step to = t - last < more ? t : last + more;
  Moves moves;
  moves_of(from, to, moves);
  for (Step k = first; k <= last; ++k) {
    const Step end = to - k < more ? to : k + more;
    double weight = 0.0;
    for (Step i = std::max(k, from); i <= end; ++i) weight += moves[i - from] * bands[i - k];
    out[k - first] = weight;
  }
}

}  // namespace lazydp
