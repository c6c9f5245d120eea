#pragma once
// The card of a released model, as its folder has it.

#include <string>

#include "lazydp/train/plan_json.h"

namespace lazydp {

// In the folder of a released model. The weights' file holds a copy of the card, under a key of its
// metadata.
inline constexpr const char* kWeights = "/model.safetensors";
inline constexpr const char* kCard = "/card.json";
inline constexpr const char* kCardInWeights = "lazydp.card";

// Throws PrivacyError if card or weights were edited since, IoError if they cannot be read.
Json verified_card(const std::string& folder);

}  // namespace lazydp
