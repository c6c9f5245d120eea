#include "lazydp/train/memory_needs.h"

#include <algorithm>

#include "lazydp/base/error.h"
#include "lazydp/base/text/number_text.h"

namespace lazydp {
namespace {

constexpr double kFloat = sizeof(float);
constexpr double kGrowth = 1.25;         // AlignedBuffer allocates a quarter more than requested
constexpr double kBytesPerStep = 100.0;  // two clocks, and the time a step took
constexpr double kProgram = 64e6;        // code, libraries, threads' stacks, BLAS' buffers

// Returns the bytes that a trainer keeps for its rows: a history for rows that wait, one for the
// rows of a step (EANA), and what its rule remembers: under momentum as much again as the tables.
double history_bytes(ModelShape shape, const Recipe& recipe, const OptimizerKind& kind) {
  for (const std::size_t k : kind.frozen_tables) shape.table_rows[k] = 0;
  const auto one = static_cast<double>(shape.history_bytes());
  const double state =
      static_cast<double>(state_floats(kind.rule)) * static_cast<double>(shape.table_bytes());
  if (kind.rule == TableRule::momentum) return one + state;
  if (!linear(kind.rule)) return 2.0 * one + state;  // which rows a batch has, and their slots
  const PolicyTraits& policy = traits_of(recipe.noise);
  return (policy.rows_wait(kind.decay == WeightDecay::on) ? one : 0.0) +
         (policy.on_gradient != Missed::nothing ? one : 0.0);
}

// Counts the outputs of all layers and the gradients of these.
double activation_floats(const ModelShape& shape) {
  auto width = static_cast<double>(2 * shape.dense_features());
  for (const auto& layers : {shape.bottom_layers(), shape.top_layers()}) {
    for (const LayerShape& layer : layers) width += 2.0 * static_cast<double>(layer.out);
  }
  const double features = static_cast<double>(shape.tables() + 1) * static_cast<double>(shape.dim);
  return width + 2.0 * (features + static_cast<double>(shape.interaction_width()));
}

double bytes_of_id(const Recipe& recipe, bool ahead) {
  constexpr double kLateRow = 16.0;
  return sizeof(RowId) * (ahead ? 2.0 : 1.0) +
         (traits_of(recipe.noise).adds_noise() ? kLateRow : 0.0);
}

}  // namespace

MemoryNeeds memory_needs(const ModelShape& shape, std::span<const Recipe> recipes,
                         const OptimizerKind& kind, const Performance& performance,
                         std::uint64_t batch, Step steps, double data) {
  const auto examples = static_cast<double>(batch);
  const auto parameters = static_cast<double>(shape.parameters());
  const double look_ups =
      examples * static_cast<double>(shape.tables()) * static_cast<double>(shape.pooling);

  MemoryNeeds needs{.tables = static_cast<double>(shape.table_bytes())};
  needs.rest = kProgram + data + parameters * kFloat +
               examples * activation_floats(shape) * kFloat * kGrowth;
  for (const Recipe& recipe : recipes) {
    needs.history += history_bytes(shape, recipe, kind);
    needs.rest += parameters * kFloat + look_ups * bytes_of_id(recipe, performance.settle_ahead) +
                  examples * static_cast<double>(shape.dense_features()) * kFloat +
                  static_cast<double>(steps) * kBytesPerStep;
    if (recipe.clip == ClipMethod::materialize) {
      const auto budget = static_cast<double>(performance.materialize_bytes);
      const double held =
          std::max(parameters * kFloat, std::min(budget, examples * parameters * kFloat));
      needs.rest += held * kGrowth;
    }
  }
  return needs;
}

MemoryNeeds with_tables_in_files(MemoryNeeds needs, const ModelShape& shape) {
  needs.tables = 0.0;
  needs.history += static_cast<double>(shape.history_bytes());
  return needs;
}

void require_memory(const MemoryNeeds& needs, std::uint64_t available) {
  if (needs.total() <= static_cast<double>(available)) return;
  throw UserError("this needs " + bytes_in_full(needs.total()) + " of memory (tables " +
                  human_bytes(needs.tables) + ", history " + human_bytes(needs.history) +
                  ", the rest " + human_bytes(needs.rest) + "), and " +
                  bytes_in_full(static_cast<double>(available)) +
                  " are available; use a smaller --scale, --rows, --dim or --batch");
}

}  // namespace lazydp
