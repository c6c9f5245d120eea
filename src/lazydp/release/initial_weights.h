#pragma once
// The weights that a run begins with: those of a released model, or of a file in its format.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lazydp/data/schema.h"
#include "lazydp/export/safetensors.h"
#include "lazydp/model/shape.h"
#include "lazydp/train/initial_model.h"
#include "lazydp/train/model_and_tables.h"
#include "lazydp/train/plan_json.h"

namespace lazydp {

// Who says what the weights reveal of the data they were trained on.
enum class Provenance : std::uint8_t { card, declared_public };

class InitialWeights {
 public:
  // Opens a released model's folder, the folder of a run that has one, or a file of weights, and
  // reads all of it once. Throws PrivacyError for a model that was edited since its release, and
  // for one without a card that is not declared public; UserError for weights that are not finite.
  InitialWeights(const std::string& path, Provenance provenance);

  const InitialModel& model() const { return model_; }

  // Returns the shape on the model's card, if there is one.
  std::optional<ModelShape> shape() const;

  // Returns the largest absolute value of a weight of a table.
  float largest_weight() const { return largest_; }

  // Throws UserError, with every difference, unless the weights are those of a model of
  // this shape whose rows have the meaning that `schema` gives them; null: the rows of made-up
  // data. Nothing tells what the rows of a model without a card mean.
  void require_fits(const ModelShape& shape, const Schema* schema) const;

  // Sets all weights here. `rows_file` is where tables in files find the rows that they have not
  // needed yet: this model's own file of weights, or another name of it.
  void load(ModelAndTables& model, const std::string& rows_file) const;

  const std::string& file() const { return weights_.path(); }

 private:
  void look_at_values();

  std::string path_;  // as the user gave it
  SafetensorsFile weights_;
  Json card_;  // null if there is none
  InitialModel model_;
  float largest_ = 0.0f;
};

}  // namespace lazydp
