#include "lazydp/clip/unit_norms.h"

#include <algorithm>
#include <cmath>

#include "lazydp/kernels/vector.h"
#include "lazydp/model/gemm.h"

namespace lazydp {
namespace {

double length(std::span<const float> x) {
  return std::sqrt(static_cast<double>(squared_norm(x)));
}

double squared(std::span<const double> x) {
  double sum = 0.0;
  for (const double value : x) sum += value * value;
  return sum;
}

// Rounding may make a sum of squares negative. NaN stays NaN.
double root(double square) {
  return square < 0.0 ? 0.0 : std::sqrt(square);
}

}  // namespace

std::span<const float> mean_weights(const Batch& batch, std::vector<float>& weights) {
  if (!batch.has_units()) return {};
  weights.resize(batch.size);
  for (std::size_t u = 0; u < batch.units(); ++u) {
    const UnitExamples unit = batch.unit(u);
    const float share = 1.0f / static_cast<float>(unit.size());
    std::fill(weights.begin() + static_cast<std::ptrdiff_t>(unit.begin),
              weights.begin() + static_cast<std::ptrdiff_t>(unit.end), share);
  }
  return weights;
}

std::size_t units_per_task(const Batch& batch, std::size_t examples) {
  if (!batch.has_units()) return examples;
  return std::max<std::size_t>(1, examples * batch.units() / std::max<std::size_t>(1, batch.size));
}

TermLengths term_lengths(const LayerTrace& layer, const UnitExamples& unit) {
  TermLengths lengths;
  for (std::size_t i = unit.begin; i < unit.end; ++i) {
    const double d = length(layer.gradients.row(i));
    lengths.weight += length(layer.inputs.row(i)) * d;
    lengths.bias += d;
  }
  return lengths;
}

double UnitNorms::squared_layer(const LayerTrace& layer, const UnitExamples& unit) {
  const std::size_t m = layer.inputs.cols;
  const std::size_t n = layer.gradients.cols;
  const TermLengths terms = term_lengths(layer, unit);
  // The outer product of one term is as long as the product of its factors.
  const double weight = unit.size() == 1                 ? terms.weight
                        : unit.size() * (m + n) <= m * n ? weight_by_pairs(layer, unit)
                                                         : weight_by_matrix(layer, unit);
  return squared_bound(weight, terms.weight) + squared_bound(bias(layer, unit), terms.bias);
}

// |sum of d xᵀ|² = sum over pairs of (x_i · x_j)(d_i · d_j).
double UnitNorms::weight_by_pairs(const LayerTrace& layer, const UnitExamples& unit) {
  const std::size_t count = unit.size();
  dgram(layer.inputs.rows_from(unit.begin, count), inputs_gram_);
  dgram(layer.gradients.rows_from(unit.begin, count), gradients_gram_);
  double sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    const double* const x = inputs_gram_.data() + i * count;
    const double* const d = gradients_gram_.data() + i * count;
    double pairs = 0.0;
    for (std::size_t j = 0; j < i; ++j) pairs += x[j] * d[j];
    sum += 2.0 * pairs + x[i] * d[i];
  }
  return root(sum);
}

double UnitNorms::weight_by_matrix(const LayerTrace& layer, const UnitExamples& unit) {
  constexpr std::size_t kTile = std::size_t{1} << 15;  // floats: half of a second-level cache
  const std::size_t in = layer.inputs.cols;
  const std::size_t out = layer.gradients.cols;
  const ConstMatrixView x = layer.inputs.rows_from(unit.begin, unit.size());
  const ConstMatrixView d = layer.gradients.rows_from(unit.begin, unit.size());
  const std::size_t rows = std::clamp<std::size_t>(kTile / in, 1, out);
  double sum = 0.0;
  for (std::size_t first = 0; first < out; first += rows) {
    const std::size_t count = std::min(rows, out - first);
    tile_.reshape(count, in);
    transpose_times_in_parts(d.cols_from(first, count), x, tile_.view());
    for (std::size_t r = 0; r < count; ++r) sum += static_cast<double>(squared_norm(tile_.row(r)));
  }
  return std::sqrt(sum);
}

double UnitNorms::bias(const LayerTrace& layer, const UnitExamples& unit) {
  total_.assign(layer.gradients.cols, 0.0);
  for (std::size_t i = unit.begin; i < unit.end; ++i) {
    const float* const __restrict d = layer.gradients.row(i).data();
    double* const __restrict total = total_.data();
    for (std::size_t j = 0; j < total_.size(); ++j) total[j] += static_cast<double>(d[j]);
  }
  return std::sqrt(squared(total_));
}

// Lists the look-ups of all of the unit's bags, those of one row as a chain: nothing is sorted, so
// that it costs little where rows hardly ever repeat.
void UnitNorms::find_rows(const Bags& bags, Pooling mode, const UnitExamples& unit) {
  uses_.clear();
  rows_.clear();
  numbers_.start(bags.offsets[unit.end] - bags.offsets[unit.begin]);
  for (std::size_t i = unit.begin; i < unit.end; ++i) {
    const double share = mode == Pooling::mean ? 1.0 / static_cast<double>(bags.length(i)) : 1.0;
    for (std::size_t k = bags.offsets[i]; k < bags.offsets[i + 1]; ++k) {
      const auto use = static_cast<std::uint32_t>(uses_.size());
      uses_.push_back({i, share * static_cast<double>(bags.weight(k)), 0});
      const std::uint32_t row = numbers_.number(bags.ids[k]);
      if (row == rows_.size()) {
        rows_.push_back({use, use});
        continue;
      }
      uses_[rows_[row].last].next = use + 1;
      rows_[row].last = use;
    }
  }
}

double UnitNorms::squared_table(const Bags& bags, Pooling mode, ConstMatrixView gradients,
                                const UnitExamples& unit) {
  lengths_.clear();
  for (std::size_t i = unit.begin; i < unit.end; ++i) lengths_.push_back(length(gradients.row(i)));
  find_rows(bags, mode, unit);
  double sum = 0.0;
  for (const Occurrences& row : rows_) sum += squared_row(row, gradients, unit);
  return sum;
}

double UnitNorms::squared_row(const Occurrences& row, ConstMatrixView gradients,
                              const UnitExamples& unit) {
  const auto term = [&](const Use& use) {
    return std::abs(use.coefficient) * lengths_[use.example - unit.begin];
  };
  double terms = term(uses_[row.first]);
  if (row.first == row.last) return squared_bound(terms, terms);
  total_.assign(gradients.cols, 0.0);
  terms = 0.0;
  for (std::uint32_t next = row.first + 1; next != 0; next = uses_[next - 1].next) {
    const Use& use = uses_[next - 1];
    terms += term(use);
    const float* const __restrict d = gradients.row(use.example).data();
    double* const __restrict total = total_.data();
    for (std::size_t j = 0; j < total_.size(); ++j) {
      total[j] += use.coefficient * static_cast<double>(d[j]);
    }
  }
  return squared_bound(std::sqrt(squared(total_)), terms);
}

double UnitNorms::squared_tables(const Tape& tape, const Batch& batch, Pooling mode,
                                 const UnitExamples& unit) {
  double sum = 0.0;
  for (std::size_t k = 0; k < batch.bags.size(); ++k) {
    if (tape.pooled_gradients[k].cols == 0) continue;  // it does not train
    sum += squared_table(batch.bags[k], mode, tape.pooled_gradients[k], unit);
  }
  return sum;
}

}  // namespace lazydp
