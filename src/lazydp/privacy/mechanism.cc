#include "lazydp/privacy/mechanism.h"

#include <cmath>

#include "lazydp/base/require.h"

namespace lazydp {

void Mechanism::validate() const {
  // Comparisons with NaN are false, so each condition states what is allowed.
  require(sampling_rate > 0 && sampling_rate <= 1, "sampling_rate", sampling_rate,
          "above 0 and at most 1, for example 0.01");
  require(noise_multiplier >= 0 && std::isfinite(noise_multiplier), "noise_multiplier",
          noise_multiplier, "finite and not negative, for example 1.0 (0 means no noise)");
  require(clip_norm > 0, "clip_norm", clip_norm, "positive, for example 1.0");
  require(std::isfinite(clip_norm) || noise_multiplier == 0, "clip_norm", clip_norm,
          "finite when noise_multiplier is positive: sigma > 0 with infinite C is refused");
  require(expected_batch > 0 && std::isfinite(expected_batch), "expected_batch", expected_batch,
          "positive and finite, for example 1024");
}

}  // namespace lazydp
