#pragma once
// Measures experiments: interleaved steps, on models scaled to this machine.

#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lazydp/bench/interleaved_steps.h"
#include "lazydp/bench/paper/scale.h"
#include "lazydp/report/progress.h"

namespace lazydp::paper {

// The conditions of a measurement. Two experiments with equal settings share one measurement.
struct Setting {
  std::string_view model = "mlperf";
  double table_bytes = 0.0;  // rows are scaled so that tables take about this
  std::string_view synthetic = "uniform";
  std::size_t pooling = 0;  // 0: the model's own
  std::uint64_t batch = 0;
  std::vector<std::string_view> algorithms = {};
  NoisePasses passes = NoisePasses::fused;
  bool tables_in_files = false;

  bool operator==(const Setting&) const = default;
};

struct Measurement {
  Setting setting;
  BenchOptions options;
  std::vector<Measured> measured;

  const Measured& of(std::string_view algorithm) const;
  double ms(std::string_view algorithm) const;  // median of a step, without drawing its batch
  double ratio(std::string_view of, std::string_view to) const;  // median of ratios by round
  double table_bytes() const;
  double lateness() const;  // mean lateness in steps; NaN if no algorithm has late rows
};

class Measurer {
 public:
  // Tables in files are in `folder` while they are needed.
  Measurer(const Scale& scale, std::uint64_t seed, std::string folder, Progress& progress)
      : effort_(scale), seed_(seed), folder_(std::move(folder)), progress_(progress) {}

  const Scale& scale() const { return effort_; }
  std::uint64_t seed() const { return seed_; }
  Progress& progress() { return progress_; }

  // Returns the paper's default: `mlperf` at the largest size of this run, at its default batch.
  Setting standard(std::vector<std::string_view> algorithms) const;

  // Returns a measurement that is valid as long as the measurer.
  const Measurement& measure(const Setting& setting);

  // Returns the bytes that a setting needs, if this machine does not have them.
  std::optional<double> lacks(const Setting& setting) const;

 private:
  BenchOptions options_of(const Setting& setting) const;

  Scale effort_;
  std::uint64_t seed_;
  std::string folder_;
  Progress& progress_;
  std::list<Measurement> measured_;
};

// Returns the named model with about so many bytes of tables: rows are scaled, and every table
// keeps at least one.
ModelShape shape_of(std::string_view model, double table_bytes);

// A step's stages in the groups that the paper's figures show: means over steps, in ms. They add up
// to the step without drawing its batch.
struct StepParts {
  double forward = 0.0;
  double per_example = 0.0;  // backward pass with per-example gradients, and norms
  double per_batch = 0.0;    // backward pass over the whole batch, and weight gradients
  double update = 0.0;       // update of dense layers and tables, with all noise

  double total() const { return forward + per_example + per_batch + update; }
};

StepParts parts_of(const Measured& measured);

// The parts of `update`, from split kernels.
struct UpdateParts {
  double sampling = 0.0;    // drawing standard normals
  double generation = 0.0;  // scaling them, and summing up what a row is owed
  double writing = 0.0;     // adding gradients and noise to the tables
  double overhead = 0.0;    // finding late rows, reading and writing histories, pricing
  double other = 0.0;       // dense layers

  double total() const { return sampling + generation + writing + overhead + other; }
};

UpdateParts update_of(const Measured& measured);

// Returns the time that an algorithm that noises every row would take with other tables: the noise
// is linear in their bytes, all else stays.
double eager_ms_at(const Measured& measured, double measured_bytes, double bytes);

}  // namespace lazydp::paper
