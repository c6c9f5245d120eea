#pragma once
// What a run of steps owes a weight that only waits: a shrink and a variance.

#include <algorithm>
#include <array>
#include <cmath>

#include "lazydp/base/types.h"
#include "lazydp/noise/step_ranges.h"

namespace lazydp {

// The change of a weight that only waits: w <- shrink * w + N(0, variance).
struct Owed {
  double shrink = 1.0;
  double variance = 0.0;

  bool nothing() const { return shrink == 1.0 && variance == 0.0; }
};

// Composes two changes, `first` before `second`. Associative, and free of subtraction: nothing
// cancels, however fast the learning rate decays.
inline Owed then(const Owed& first, const Owed& second) {
  return {first.shrink * second.shrink,
          second.shrink * second.shrink * first.variance + second.variance};
}

// An `Owed` as kernels take it: w <- shrink * w + std * N(0, 1). Of a cell that enters with the
// other sign, `std` is negative.
struct NoiseTerm {
  float shrink;
  float std;
};

inline NoiseTerm to_term(const Owed& owed) {
  return {static_cast<float>(owed.shrink), static_cast<float>(std::sqrt(owed.variance))};
}

// Composes the steps up to `through`, for many rows at one moment. Most rows have waited for a few
// steps; for these the answer is precomputed, square roots included.
class TermsEndingAt : public RangesEndingAt<Owed> {
 public:
  TermsEndingAt(const StepRanges<Owed>& runs, Step through) : RangesEndingAt(runs, through) {
    std::ranges::transform(recent(), recent_terms_.begin(), to_term);
  }

  NoiseTerm term_since(Step after) const {
    return is_recent(after) ? recent_terms_[recent_place(after)] : to_term(since(after));
  }

 private:
  std::array<NoiseTerm, kMostRecent> recent_terms_;
};

}  // namespace lazydp
