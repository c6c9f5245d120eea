#pragma once
// Whole runs of a small model, for experiments that examine the trained weights.

#include <memory>
#include <string_view>
#include <vector>

#include "lazydp/data/samplers.h"
#include "lazydp/data/training_data.h"
#include "lazydp/train/model_and_tables.h"
#include "lazydp/train/trainer.h"

namespace lazydp::paper {

inline constexpr double kClipNorm = 0.4;  // the paper's

struct TinySetting {
  ModelShape shape;
  std::string_view synthetic = "uniform";
  std::uint64_t batch = 64;
  Step steps = 20;
  double noise_multiplier = 1.0;
  double rate = 0.01;  // the paper's
  std::uint64_t seed = 1;
};

// A run that was trained and settled, with all of its state accessible.
struct TinyRun {
  TinyRun(const TinySetting& setting, std::string_view algorithm);

  TinySetting setting;
  Seed seed;
  TrainingData task;
  ModelAndTables model_and_tables;
  std::unique_ptr<Sampler> sampler;
  std::unique_ptr<Trainer> trainer;
  std::vector<std::vector<bool>> read;  // by table: rows that some batch looked up

  // Returns table k as it was before training.
  Table initial_table(std::size_t k) const;
};

// The Kolmogorov-Smirnov test of whether numbers come from a standard normal distribution.
struct KolmogorovTest {
  double distance = 0.0;     // between the distributions, at most 1
  double probability = 0.0;  // probability of such a distance or a larger one, if they do
};

KolmogorovTest against_normal(std::vector<double> values);

}  // namespace lazydp::paper
