#pragma once
// The card of a released model, in the model's folder.

#include <optional>
#include <span>
#include <string>

#include "lazydp/base/text/json.h"
#include "lazydp/export/safetensors.h"
#include "lazydp/model/score_scaling.h"
#include "lazydp/model/shape.h"
#include "lazydp/train/plan_json.h"

namespace lazydp {

// Files in the folder of a released model. The weights' file holds a copy of the card, under a key
// of its metadata.
inline constexpr const char* kWeights = "/model.safetensors";
inline constexpr const char* kCard = "/card.json";
inline constexpr const char* kCardInWeights = "lazydp.card";

// Returns the card. Throws PrivacyError if the card or the weights were edited since the release,
// IoError if they cannot be read.
Json verified_card(const std::string& folder);

// Returns the shape on a model's card. Throws UserError for a shape that no model can have.
ModelShape shape_on_card(const Json& card);

// Returns how the logits of a card's model are scaled; not at all, unless the card says so.
ScoreScaling score_scaling_on_card(const Json& card);

// Returns the metadata of a weights' file: a copy of its card, which has no digest yet.
Metadata metadata_of(const Json& card);

// Writes the card with the digest of the weights' file.
void write_card(const std::string& folder, Json card, const std::string& digest);

// Returns whether the model's tables have eight bits a weight.
bool has_int8_rows(const Json& card);

// Opens the weights, and checks that the file has as many bytes as the model: whatever else is
// wrong, memory suffices for it. Throws UserError if it has not, IoError if it cannot be read.
SafetensorsFile weights_of(const std::string& folder, const ModelShape& shape);

// Reads a table, of floats or of eight-bit numbers and a scale for each row.
void read_table(const SafetensorsFile& file, std::size_t table, std::span<float> weights,
                std::size_t dim);

struct RecomputedClaim {
  double claimed = 0.0;     // the card's epsilon
  double recomputed = 0.0;  // by this program, from the card's ledger
};

// Returns nothing for a card that claims nothing. Throws PrivacyError if the card claims less than
// its ledger costs, UserError if it cannot be read.
//
// Only arithmetic is checked: that the steps on the ledger are those that were taken, with a secret
// key and on Poisson samples, is what the owner of the data says.
std::optional<RecomputedClaim> recompute_claim(const Json& card);

}  // namespace lazydp
