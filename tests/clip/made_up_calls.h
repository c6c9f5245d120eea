#pragma once
// Calls of a table with made-up bags, and what they give each row by definition.

#include <cstddef>
#include <map>
#include <random>
#include <vector>

#include "lazydp/clip/table_norms.h"

namespace lazydp {

inline constexpr std::size_t kDim = 5;

struct MadeUpCall {
  Bags bags;
  Matrix gradients;
  Pooling mode = Pooling::sum;
  std::size_t bags_per_example = 1;

  TableCall view() const { return {&bags, mode, gradients.view(), bags_per_example}; }
};

// With few rows they repeat within a bag, and with more only within several.
inline MadeUpCall made_up_call(std::size_t examples, std::size_t per_example, Pooling mode,
                               bool weighted, std::mt19937& rng, RowId rows = 4) {
  MadeUpCall call;
  call.mode = mode;
  call.bags_per_example = per_example;
  for (std::size_t b = 0; b < examples * per_example; ++b) {
    const std::size_t length = rng() % 5;
    for (std::size_t k = 0; k < length; ++k) {
      call.bags.ids.push_back(static_cast<RowId>(rng() % static_cast<std::size_t>(rows)));
      if (weighted) call.bags.weights.push_back(static_cast<float>(rng() % 7) - 3.0f);
    }
    call.bags.offsets.push_back(call.bags.ids.size());
  }
  call.gradients.reshape(call.bags.size(), kDim);
  for (std::size_t i = 0; i < call.bags.size() * kDim; ++i) {
    call.gradients.data()[i] = std::normal_distribution<float>()(rng);
  }
  return call;
}

using GradientByRow = std::map<RowId, std::vector<double>>;

// Returns the gradient of the examples [begin, end), occurrence by occurrence.
inline GradientByRow gradient_by_definition(const std::vector<MadeUpCall>& calls, std::size_t begin,
                                            std::size_t end) {
  GradientByRow rows;
  for (const MadeUpCall& call : calls) {
    for (std::size_t b = begin * call.bags_per_example; b < end * call.bags_per_example; ++b) {
      for (std::size_t k = call.bags.offsets[b]; k < call.bags.offsets[b + 1]; ++k) {
        double a = call.bags.weight(k);
        if (call.mode == Pooling::mean) a /= static_cast<double>(call.bags.length(b));
        auto& row = rows.try_emplace(call.bags.ids[k], kDim, 0.0).first->second;
        for (std::size_t j = 0; j < kDim; ++j) row[j] += a * call.gradients.row(b)[j];
      }
    }
  }
  return rows;
}

inline double squared_length(const GradientByRow& rows) {
  double sum = 0.0;
  for (const auto& [id, row] : rows) {
    for (const double x : row) sum += x * x;
  }
  return sum;
}

inline std::vector<TableCall> views_of(const std::vector<MadeUpCall>& calls) {
  std::vector<TableCall> views;
  views.reserve(calls.size());
  for (const MadeUpCall& call : calls) views.push_back(call.view());
  return views;
}

}  // namespace lazydp
