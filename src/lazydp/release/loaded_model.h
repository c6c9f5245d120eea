#pragma once
// A released model, ready to score.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lazydp/embedding/table.h"
#include "lazydp/export/safetensors.h"
#include "lazydp/model/model.h"
#include "lazydp/model/score_scaling.h"
#include "lazydp/model/shape.h"
#include "lazydp/release/card.h"

namespace lazydp {

class LoadedModel {
 public:
  // Reads the weights in `folder`, which have this shape; the caller has verified the card. Throws
  // UserError if they have another: a card may say anything, so that is checked before memory is
  // allocated.
  LoadedModel(const std::string& folder, const ModelShape& shape, const ScoreScaling& scaling = {});

  // Returns the logits of a batch, valid until the next call.
  std::span<const float> predict(const Batch& batch);

  const ModelShape& shape() const { return shape_; }
  const ScoreScaling& score_scaling() const { return scaling_; }
  std::span<const float> parameters() const { return model_->parameters(); }
  std::vector<TensorSource> dense_weights() const;  // valid as long as the model
  const Table& table(std::size_t k) const { return tables_[k]; }

 private:
  LoadedModel(const SafetensorsFile& weights, const ModelShape& shape, const ScoreScaling& scaling);

  ModelShape shape_;
  ScoreScaling scaling_;
  std::vector<float> scaled_;
  std::unique_ptr<Model> model_;
  std::vector<Table> tables_;
};

}  // namespace lazydp
