#pragma once
// What decides the privacy guarantee, and nothing else.

namespace lazydp {

// Every field is public: none may be computed from the data. Changing any of them changes what may
// be claimed; what only changes speed or memory does not belong here.
struct Mechanism {
  double sampling_rate;     // each example joins each step with this probability, on its own
  double clip_norm;         // no example's gradient is longer than this
  double noise_multiplier;  // std of the noise on the clipped sum, divided by clip_norm
  double expected_batch;    // the noisy sum is divided by this public number

  // Throws UserError that names the field, the value given and what is allowed.
  void validate() const;
};

}  // namespace lazydp
