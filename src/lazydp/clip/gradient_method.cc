#include "lazydp/clip/gradient_method.h"

#include <algorithm>
#include <array>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/clip/table_norms.h"
#include "lazydp/clip/unit_norms.h"
#include "lazydp/kernels/vector.h"
#include "lazydp/model/gemm.h"

namespace lazydp {

namespace {

// Writes out[j] = sum over rows of m[.][j], rows in order.
void sum_rows(ConstMatrixView m, std::span<float> out) {
  constexpr std::size_t kColumns = 64;
  parallel_blocks(m.cols, kColumns, [&](std::size_t begin, std::size_t end) {
    const std::span<float> part = out.subspan(begin, end - begin);
    std::ranges::fill(part, 0.0f);
    for (std::size_t i = 0; i < m.rows; ++i) {
      add_scaled(1.0f, m.row(i).subspan(begin, end - begin), part);
    }
  });
}

// Writes the same, summed in double precision.
void sum_rows_in_double(ConstMatrixView m, std::span<float> out) {
  constexpr std::size_t kColumns = 64;
  parallel_blocks(m.cols, kColumns, [&](std::size_t begin, std::size_t end) {
    std::array<double, kColumns> sum{};
    for (std::size_t i = 0; i < m.rows; ++i) {
      const std::span<const float> row = m.row(i).subspan(begin, end - begin);
      for (std::size_t j = 0; j < row.size(); ++j) sum[j] += static_cast<double>(row[j]);
    }
    for (std::size_t j = begin; j < end; ++j) out[j] = static_cast<float>(sum[j - begin]);
  });
}

class Plain : public GradientMethod {
 public:
  explicit Plain(Pooling pooling) : pooling_(pooling) {}

  void compute(Model& model, const Batch& batch, double /*clip_norm*/, Gradient& gradient,
               StageClock& stages, const TablesReady& ready) override {
    const Tape& tape = model.backward(batch, mean_weights(batch, weights_));
    stages.lap(Stage::backward);
    refer_to_tables(tape, batch, pooling_, gradient.tables);
    if (ready) ready(gradient.tables);
    sum_dense(tape, batch, model.parameters().size(), gradient.dense);
    stages.lap(Stage::weight_gradients);
  }

 private:
  Pooling pooling_;
  std::vector<float> weights_;
};

}  // namespace

void sum_dense(const Tape& tape, const Batch& batch, std::size_t parameters,
               std::vector<float>& dense) {
  dense.resize(parameters);
  for (const LayerTrace& layer : tape.layers) {
    const std::size_t in = layer.inputs.cols;
    const std::size_t out = layer.gradients.cols;
    float* weights = dense.data() + layer.first_parameter;
    const MatrixView product = {weights, out, in, in};
    const std::span<float> bias = {weights + out * in, out};
    if (batch.has_units()) {
      parallel_transpose_times_in_parts(layer.gradients, layer.inputs, product);
      sum_rows_in_double(layer.gradients, bias);
    } else {
      parallel_transpose_times(layer.gradients, layer.inputs, product);
      sum_rows(layer.gradients, bias);
    }
  }
}

void refer_to_tables(const Tape& tape, const Batch& batch, Pooling pooling,
                     std::vector<TableGradient>& tables) {
  tables.clear();
  for (std::size_t k = 0; k < batch.bags.size(); ++k) {
    tables.push_back({&batch.bags[k], pooling, tape.pooled_gradients[k]});
  }
}

double squared_tables_norm(const Tape& tape, const Batch& batch, Pooling pooling, std::size_t i) {
  thread_local BagCoefficients coefficients;
  double sum = 0.0;
  for (std::size_t k = 0; k < batch.bags.size(); ++k) {
    if (tape.pooled_gradients[k].cols == 0) continue;  // it does not train
    sum += static_cast<double>(coefficients.squared(batch.bags[k], pooling, i)) *
           static_cast<double>(squared_norm(tape.pooled_gradients[k].row(i)));
  }
  return sum;
}

void scale_row(std::span<float> row, float factor) {
  if (factor == 0.0f) {
    std::ranges::fill(row, 0.0f);
  } else if (factor != 1.0f) {
    scale(factor, row);
  }
}

std::unique_ptr<GradientMethod> make_plain(Pooling pooling) {
  return std::make_unique<Plain>(pooling);
}

std::unique_ptr<GradientMethod> make_gradient_method(ClipMethod method, Pooling pooling,
                                                     std::size_t memory_budget) {
  switch (method) {
    case ClipMethod::none: return make_plain(pooling);
    case ClipMethod::materialize: return make_materialize(pooling, memory_budget);
    case ClipMethod::reweight: return make_reweight(pooling);
    case ClipMethod::ghost: return make_ghost(pooling);
  }
  throw InternalError("unknown ClipMethod");
}

}  // namespace lazydp
