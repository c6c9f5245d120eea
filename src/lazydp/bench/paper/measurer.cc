#include "lazydp/bench/paper/measurer.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/base/memory.h"
#include "lazydp/base/text/number_text.h"
#include "lazydp/bench/step_times.h"

namespace lazydp::paper {

ModelShape shape_of(std::string_view model, double table_bytes) {
  const auto whole = static_cast<double>(named_shape(model).table_bytes());
  return named_shape(model, table_bytes / whole);
}

const Measured& Measurement::of(std::string_view algorithm) const {
  const auto found =
      std::ranges::find(measured, algorithm, [](const Measured& m) { return m.recipe().name; });
  check(found != measured.end(), "an experiment asks for what it had measured");
  return *found;
}

double Measurement::ms(std::string_view algorithm) const {
  return median(of(algorithm).times.compute_ms());
}

double Measurement::ratio(std::string_view numerator, std::string_view denominator) const {
  return lazydp::ratio(of(numerator).times.compute_ms(), of(denominator).times.compute_ms()).median;
}

double Measurement::table_bytes() const {
  return static_cast<double>(options.model.shape.table_bytes());
}

double Measurement::lateness() const {
  for (const Measured& m : measured) {
    if (!std::isnan(m.lateness)) return m.lateness;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

Setting Measurer::standard(std::vector<std::string_view> algorithms) const {
  return {.table_bytes = effort_.table_bytes,
          .batch = effort_.batch(),
          .algorithms = std::move(algorithms)};
}

BenchOptions Measurer::options_of(const Setting& setting) const {
  BenchOptions options;
  for (const std::string_view name : setting.algorithms) {
    options.contenders.push_back(recipe(name));
  }
  options.model = {.shape = shape_of(setting.model, setting.table_bytes),
                   .named = std::string(setting.model)};
  if (setting.pooling > 0) options.model.shape.pooling = setting.pooling;
  options.task.name = setting.synthetic;
  options.task.what = parse_synthetic(setting.synthetic);
  options.performance.passes = setting.passes;
  if (setting.tables_in_files) options.table_folder = folder_;
  options.batch = setting.batch;
  options.rounds = effort_.rounds;
  options.warmup = effort_.warmup;
  options.seed = seed_;
  return options;
}

std::optional<double> Measurer::lacks(const Setting& setting) const {
  const double needs = memory_needs(options_of(setting)).total();
  if (needs <= static_cast<double>(available_memory())) return std::nullopt;
  return needs;
}

const Measurement& Measurer::measure(const Setting& setting) {
  const auto known = std::ranges::find(measured_, setting, &Measurement::setting);
  if (known != measured_.end()) return *known;
  BenchOptions options = options_of(setting);
  progress_.say("  " + std::string(setting.model) + ", pooling " +
                std::to_string(options.model.shape.pooling) + ", " +
                std::string(setting.synthetic) + ", batch " + std::to_string(setting.batch) + ", " +
                stages_name(options.performance) + " kernels");
  require_memory(memory_needs(options), available_memory());
  const TrainingData task = load_data(options.task, options.model.shape);
  std::vector<Measured> measured = interleave(options, task, progress_);
  std::error_code ignored;
  // The folder of tables is empty again.
  if (setting.tables_in_files) std::filesystem::remove(folder_, ignored);
  measured_.push_back({setting, std::move(options), std::move(measured)});
  return measured_.back();
}

StepParts parts_of(const Measured& measured) {
  const StepTimes& times = measured.times;
  StepParts parts;
  parts.forward = times.stage_ms(Stage::forward);
  parts.per_batch = times.stage_ms(Stage::backward_again) + times.stage_ms(Stage::weight_gradients);
  (measured.recipe().clips() ? parts.per_example : parts.per_batch) +=
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
