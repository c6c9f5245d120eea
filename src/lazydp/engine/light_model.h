#pragma once
// A released model that scores one example after the other, without a GEMM library.

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "lazydp/data/example_encoder.h"
#include "lazydp/embedding/table.h"
#include "lazydp/model/score_scaling.h"
#include "lazydp/model/shape.h"

namespace lazydp {

// Nothing in it but the encoder changes, which one thread uses at a time: threads may share it.
class LightModel {
 public:
  // Opens a released model. Throws PrivacyError for files that were edited, UserError for a model
  // whose card has no schema, IoError for files that cannot be read.
  explicit LightModel(const std::string& folder);

  // Returns the probability of a positive label for each example. `values` has the texts of the
  // columns, in the order of `columns`, example by example; null is a missing value. Throws
  // UserError that names the column, or the example and the reason.
  std::vector<double> score(std::span<const char* const> columns,
                            std::span<const char* const> values);

 private:
  Batch encode(std::span<const char* const> columns, std::span<const char* const> values);
  float logit(const Batch& batch, std::size_t example, std::span<Matrix> pooled) const;
  void run(const LayerShape& layer, const std::vector<float>& input,
           std::vector<float>& output) const;

  ModelShape shape_;
  ScoreScaling scaling_;
  std::vector<LayerShape> bottom_, top_;
  std::vector<float> parameters_;
  std::vector<Table> tables_;
  std::mutex encoding_;
  std::unique_ptr<ExampleEncoder> encoder_;
};

}  // namespace lazydp
