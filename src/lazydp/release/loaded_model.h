#pragma once
// A released model, ready to score.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lazydp/embedding/table.h"
#include "lazydp/export/safetensors.h"
#include "lazydp/model/model.h"
#include "lazydp/model/shape.h"
#include "lazydp/train/plan_json.h"

namespace lazydp {

// Returns the shape on a model's card. Throws UserError for a shape that no model can have.
ModelShape shape_on_card(const Json& card);

class LoadedModel {
 public:
  // Reads the weights in `folder`, which have this shape; the caller has verified the card. Throws
  // UserError if they have another: a card may say anything, so that is checked before memory is
  // allocated.
  LoadedModel(const std::string& folder, const ModelShape& shape);

  // Returns the logits of a batch, valid until the next call.
  std::span<const float> predict(const Batch& batch);

 private:
  LoadedModel(const SafetensorsFile& weights, const ModelShape& shape);

  std::unique_ptr<Model> model_;
  Pooling mode_;
  std::vector<Table> tables_;
};

}  // namespace lazydp
