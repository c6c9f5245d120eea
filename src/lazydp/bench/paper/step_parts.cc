#include "lazydp/bench/paper/step_parts.h"

#include "lazydp/report/quantile.h"

namespace lazydp::paper {

StepParts parts_of(const Measured& measured) {
  const StepTimes& times = measured.times;
  StepParts parts;
  parts.forward = times.stage_ms(Stage::forward);
  parts.per_batch = times.stage_ms(Stage::backward_again) + times.stage_ms(Stage::weight_gradients);
  (measured.recipe.clips() ? parts.per_example : parts.per_batch) +=
      times.stage_ms(Stage::backward) + times.stage_ms(Stage::norms);
  parts.update = times.noise_ms();
  for (const Stage stage : {Stage::dedup, Stage::gradient_update, Stage::dense_update}) {
    parts.update += times.stage_ms(stage);
  }
  return parts;
}

UpdateParts update_of(const Measured& measured) {
  const StepTimes& times = measured.times;
  return {.sampling = times.stage_ms(Stage::noise_sampling),
          .generation = times.stage_ms(Stage::noisy_gradient),
          .writing = times.stage_ms(Stage::noise_update) + times.stage_ms(Stage::gradient_update),
          .overhead = times.stage_ms(Stage::dedup) + times.stage_ms(Stage::history),
          .other = times.stage_ms(Stage::dense_update)};
}

double eager_ms_at(const Measured& measured, double measured_bytes, double bytes) {
  const double noise = measured.times.noise_ms();
  return median(measured.times.compute_ms()) - noise + noise * bytes / measured_bytes;
}

}  // namespace lazydp::paper
