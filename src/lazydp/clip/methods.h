#pragma once
// The four gradient methods, each in a file of its own, and what they share.

#include <memory>
#include <span>
#include <vector>

#include "lazydp/clip/gradient_method.h"

namespace lazydp {

std::unique_ptr<GradientMethod> make_plain(Pooling pooling);
std::unique_ptr<GradientMethod> make_materialize(Pooling pooling, std::size_t memory_budget);
std::unique_ptr<GradientMethod> make_reweight(Pooling pooling);
std::unique_ptr<GradientMethod> make_ghost(Pooling pooling);

// The sum over examples of what the tape holds: dense weight gradients by one product a layer,
// table gradients as factors.
void sum_dense(const Tape& tape, std::size_t parameters, std::vector<float>& dense);
void refer_to_tables(const Tape& tape, const Batch& batch, Pooling pooling,
                     std::vector<TableGradient>& tables);

// Squared norm of example i's gradient of all tables.
double squared_tables_norm(const Tape& tape, const Batch& batch, Pooling pooling, std::size_t i);

// Scales example i's share of a gradient by `factor`. A factor of 0 selects: whatever was there,
// zeros are left.
void scale_row(std::span<float> row, float factor);

}  // namespace lazydp
