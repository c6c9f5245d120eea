#pragma once
// The card of a released model, in the model's folder.

#include <string>

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

}  // namespace lazydp
